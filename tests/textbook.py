"""A decision tree as a textbook tells it: plain Python over rows, exact numbers, no shortcuts.

It is slow and obviously right, and it is the oracle of tests, so it shares no code with the
library. Weights, sums and scores are fractions; logarithms are decimals of 60 digits. So splits
that are of the same worth tie exactly.

- `offers` lists every admissible split of a node, `best` those of the highest score, `grow` a tree.
- `complaints` holds a tree of the library against the book: is every split one of the best, is a
  tie decided for the lower column and the lower value, do rows end where they were counted?
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import combinations
from typing import Any

getcontext().prec = 60

STAY = 65_535  # in arrays of the library, in the place of a child: a row has no way to go
SAME = Decimal("1e-45")  # decimals that differ by less are logarithms of the same number
COMPARED = Fraction(1, 2**34)  # the library compares 36 bits: closer scores may tie, or may not
RATIOS_ALIKE, BELOW_AVERAGE = Decimal("1e-6"), Decimal("1e-3")  # of C4.5's published program
MANY_CATEGORIES = Fraction(3, 10)  # categories a row: such a column is left out of the average gain

Cell = Any  # a number, the number of a category, or None where the value is missing
Member = tuple[int, Fraction]  # a row and the weight that it has in a node
Score = Any  # a Fraction or a Decimal


@dataclass(frozen=True)
class Table:
    """The training rows."""

    columns: Sequence[Sequence[Cell]]
    is_nominal: Sequence[bool]
    answer: Sequence[Any]  # the number of a class, or a number
    weight: Sequence[Fraction]

    def members(self) -> list[Member]:
        """The root: rows without weight are not there."""
        return [(row, Fraction(weight)) for row, weight in enumerate(self.weight) if weight > 0]


@dataclass(frozen=True)
class Rules:
    """How a tree is grown."""

    criterion: str  # gini, entropy, gain_ratio, twoing, error or variance
    missing: str = "direction"  # or category, fractional, surrogate
    is_multiway: bool = False  # a child per category, or two groups of categories
    min_rows_split: int = 2
    min_rows_leaf: int = 1
    max_depth: int | None = None
    needs_gain: bool = False  # a split that gains nothing is none
    least_branch: Fraction = Fraction(0)  # weight of each child of a threshold, of two categories
    least_share: Fraction = Fraction(0)  # of the known weight, for thresholds, up to:
    most_least_branch: Fraction = Fraction(0)

    @property
    def sees_known(self) -> bool:
        """Whether a split is scored by the rows whose value is known."""
        return self.criterion == "gain_ratio" or self.missing in ("fractional", "surrogate")


@dataclass(frozen=True)
class Split:
    """Cells of a column that go to each child; None among them where missing values have a say."""

    column: int
    branches: tuple[frozenset[Cell], ...]
    score: Score  # weight of the node times the decrease of its impurity
    bits: Decimal = Decimal(0)  # weight times the bits that tell a row's branch, for gain ratios


@dataclass
class Node:
    """A node of a tree that `grow` has made."""

    members: list[Member]
    split: Split | None = None
    children: list["Node"] = field(default_factory=list)


# Scores: what a node is worth less what its children are.


def log2(number: Fraction) -> Decimal:
    ratio = Decimal(number.numerator) / Decimal(number.denominator)
    return ratio.ln() / Decimal(2).ln()


def decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def weight_of(members: Sequence[Member]) -> Fraction:
    return sum((weight for _, weight in members), Fraction(0))


def by_class(table: Table, members: Sequence[Member]) -> dict[int, Fraction]:
    """The weight of each class that occurs."""
    sums: dict[int, Fraction] = {}
    for row, weight in members:
        sums[table.answer[row]] = sums.get(table.answer[row], Fraction(0)) + weight
    return sums


def impurity(table: Table, members: Sequence[Member], criterion: str) -> Score:
    """Weight times impurity."""
    whole = weight_of(members)
    if criterion == "variance":
        mean = sum(weight * Fraction(table.answer[row]) for row, weight in members) / whole
        return sum(weight * (Fraction(table.answer[row]) - mean) ** 2 for row, weight in members)
    parts = by_class(table, members).values()
    if criterion == "gini":
        return whole - sum(part * part for part in parts) / whole
    if criterion == "error":
        return whole - max(parts)
    return sum((decimal(part) * log2(whole / part) for part in parts), Decimal(0))


def worth(table: Table, children: Sequence[Sequence[Member]], criterion: str) -> Score:
    """Weight times the decrease of impurity; twoing has a formula of its own for two children."""
    whole = [member for child in children for member in child]
    if criterion != "twoing" or len(children) > 2:
        name = "gini" if criterion == "twoing" else criterion
        parts = [impurity(table, child, name) for child in children if child]
        return impurity(table, whole, name) - sum(parts)
    left, right = (by_class(table, child) for child in children)
    of_left, of_right = (weight_of(child) for child in children)
    apart = sum(abs(left.get(c, 0) / of_left - right.get(c, 0) / of_right) for c in {*left, *right})
    return of_left * of_right / (of_left + of_right) * apart**2 / 4


# Candidates: every way to divide the cells that occur in a node.


def cells_of(table: Table, members: Sequence[Member], column: int) -> list[Cell]:
    """The known cells that occur, ascending."""
    cells = {table.columns[column][row] for row, _ in members}
    return sorted(cells - {None})


def parted(
    table: Table, members: Sequence[Member], column: int, branches: Sequence[frozenset[Cell]]
) -> list[list[Member]]:
    """The members whose cell is in each branch."""
    cells = table.columns[column]
    return [[one for one in members if cells[one[0]] in branch] for branch in branches]


def candidates(
    table: Table, members: Sequence[Member], column: int, rules: Rules
) -> Iterator[tuple[frozenset[Cell], ...]]:
    """The ways to divide, in the order in which ties are decided; not all are admissible."""
    cells = cells_of(table, members, column)
    has_missing = any(table.columns[column][row] is None for row, _ in members)
    if table.is_nominal[column] and has_missing and rules.missing == "category":
        cells, has_missing = [*cells, None], False
    if table.is_nominal[column] and rules.is_multiway:
        yield tuple(frozenset([cell]) for cell in cells)
        return
    for low in _low_sides(cells, table.is_nominal[column]):
        high = frozenset(cells) - low
        if has_missing and not rules.sees_known:
            yield low, high | {None}
            yield low | {None}, high
        else:
            yield low, high


def _low_sides(cells: Sequence[Cell], is_nominal: bool) -> Iterator[frozenset[Cell]]:
    """What may go to child 0: values up to each one, or groups with the first category."""
    if not is_nominal:
        for n in range(1, len(cells) + 1):
            yield frozenset(cells[:n])
        return
    for n in range(len(cells)):
        for others in combinations(cells[1:], n):
            yield frozenset([*cells[:1], *others])


def is_admissible(children: Sequence[Sequence[Member]], split_cells: str, rules: Rules) -> bool:
    """Whether children are large enough; of many categories, whether two of them are."""
    least = rules.least_branch
    if split_cells == "threshold":
        known = sum(weight_of(child) for child in children)
        least = max(least, min(rules.least_share * known, rules.most_least_branch))
    n_large = sum(
        len(child) >= max(1, rules.min_rows_leaf) and weight_of(child) >= least
        for child in children
    )
    return n_large >= 2 if split_cells == "multiway" else n_large == len(children) == 2


def offers(table: Table, members: Sequence[Member], rules: Rules) -> list[Split]:
    """Every admissible split of a node, column by column and in the order of ties."""
    criterion = "entropy" if rules.criterion == "gain_ratio" else rules.criterion
    found = []
    for column, is_nominal in enumerate(table.is_nominal):
        kind = "threshold"
        if is_nominal:
            kind = "multiway" if rules.is_multiway else "subset"
        for branches in candidates(table, members, column, rules):
            children = parted(table, members, column, branches)
            if is_admissible(children, kind, rules):
                score = worth(table, children, criterion)
                bits = branch_bits(members, children) if rules.criterion == "gain_ratio" else 0
                found.append(Split(column, branches, score, Decimal(bits)))
    return found


def branch_bits(members: Sequence[Member], children: Sequence[Sequence[Member]]) -> Decimal:
    """Weight times the bits that tell a row's branch, rows that stay being one more."""
    whole = weight_of(members)
    parts = [weight_of(child) for child in children]
    parts = [part for part in [*parts, whole - sum(parts)] if part > 0]
    return sum((decimal(part) * log2(whole / part) for part in parts), Decimal(0))


# The choice among candidates.


def alike(one: Score, other: Score) -> bool:
    """Whether scores are the same, up to the digits of decimals."""
    return abs(one - other) <= SAME if isinstance(one, Decimal) else one == other


def near(one: Score, other: Score) -> bool:
    """Whether the library may take two scores for the same."""
    margin = decimal(COMPARED) if isinstance(one, Decimal) else COMPARED
    return abs(one - other) <= margin * max(abs(one), abs(other)) + type(one)(SAME)


def best(table: Table, members: Sequence[Member], rules: Rules) -> list[Split]:
    """The splits of the highest score, all of the chosen column by ratio; the first wins."""
    found = offers(table, members, rules)
    if rules.criterion == "gain_ratio":
        found = by_ratio(table, members, found)
    if not found:
        return []
    highest = max(split.score for split in found)
    return [split for split in found if alike(split.score, highest)]


def by_ratio(table: Table, members: Sequence[Member], found: list[Split]) -> list[Split]:
    """C4.5's choice: the best ratio of gain and bits among columns that gain the average."""
    whole = decimal(weight_of(members))
    n_rows = len(table.answer)
    categories = [
        len({*cells} - {None}) if is_nominal else 0
        for cells, is_nominal in zip(table.columns, table.is_nominal, strict=True)
    ]
    is_few = [n < MANY_CATEGORIES * n_rows for n in categories]
    gains: dict[int, tuple[Decimal, Decimal]] = {}  # gain and ratio of each column
    for column in sorted({split.column for split in found}):
        own = [split for split in found if split.column == column]
        top = max(split.score for split in own)
        chosen = next(split for split in own if alike(split.score, top))
        gain = chosen.score / whole
        if chosen.bits > SAME and (table.is_nominal[column] or gain > RATIOS_ALIKE):
            gains[column] = gain, chosen.score / chosen.bits
    counted = [gain for column, (gain, _) in gains.items() if is_few[column] or not any(is_few)]
    if not counted:
        return []
    average = sum(counted, Decimal(0)) / len(counted)
    winner, highest = -1, Decimal(0)
    for column, (gain, ratio) in gains.items():
        if gain >= average - BELOW_AVERAGE and ratio - highest > RATIOS_ALIKE:
            winner, highest = column, ratio
    return [split for split in found if split.column == winner]


def is_pure(table: Table, members: Sequence[Member]) -> bool:
    return len({table.answer[row] for row, _ in members}) < 2


def may_split(table: Table, members: Sequence[Member], depth: int, rules: Rules) -> bool:
    """Whether a node is large, high and impure enough to be searched."""
    is_large = len(members) >= max(rules.min_rows_split, 2 * rules.min_rows_leaf)
    is_large = is_large and weight_of(members) >= 2 * rules.least_branch
    is_high = rules.max_depth is None or depth < rules.max_depth
    return is_large and is_high and not is_pure(table, members)


def chosen(table: Table, members: Sequence[Member], depth: int, rules: Rules) -> list[Split]:
    """The best splits of a node; none where it is a leaf. Errors must become fewer, whatever."""
    if not may_split(table, members, depth, rules):
        return []
    found = best(table, members, rules)
    needs_gain = rules.needs_gain or rules.criterion == "error"
    return [split for split in found if split.score > 0 or not needs_gain]


# Rows whose value is missing, where they have no say in the split.


def settled(
    table: Table, members: Sequence[Member], split: Split, rules: Rules
) -> list[list[Member]]:
    """The children with the rows whose value is missing; surrogates are not the book's yet."""
    children = parted(table, members, split.column, split.branches)
    staying = [one for one in members if not any(one in child for child in children)]
    weights = [weight_of(child) for child in children]
    if rules.missing == "fractional":
        for child, weight in zip(children, weights, strict=True):
            child.extend((row, own * weight / sum(weights)) for row, own in staying)
    else:
        children[weights.index(max(weights))].extend(staying)
    return children


def grow(table: Table, rules: Rules, members: list[Member] | None = None, depth: int = 0) -> Node:
    """A tree that takes the first of the best splits everywhere."""
    node = Node(table.members() if members is None else members)
    found = chosen(table, node.members, depth, rules)
    if found:
        node.split = found[0]
        children = settled(table, node.members, found[0], rules)
        node.children = [grow(table, rules, child, depth + 1) for child in children]
    return node


# A tree of the library, held against the book.


def test_of(tree: Any, node: int, cell: Cell) -> int:
    """The child to which a node's own test leads a cell; STAY where it cannot tell."""
    if cell is None:
        return STAY
    if tree.category_start[node] >= 0:
        return int(tree.slots(node, cell + 1)[cell])
    return 0 if cell <= tree.threshold[node] else 1


def surrogate_of(tree: Any, at: int, cell: Cell) -> int:
    """The same for a surrogate."""
    if cell is None:
        return STAY
    if tree.surrogate_category_start[at] >= 0:
        return int(tree.surrogate_slots(at, cell + 1)[cell])
    low = int(tree.surrogate_slot[at])
    return low if cell <= tree.surrogate_threshold[at] else 1 - low


def step(tree: Any, table: Table, node: int, row: int) -> int:
    """The child of a row: by the test, by the first surrogate that knows, or as missing ones go."""
    slot = test_of(tree, node, table.columns[tree.feature[node]][row])
    first = int(sum(tree.n_surrogates[:node]))
    for at in range(first, first + int(tree.n_surrogates[node])):
        if slot == STAY:
            slot = surrogate_of(tree, at, table.columns[tree.surrogate_feature[at]][row])
    return int(tree.missing_slot[node]) if slot == STAY else slot


def passed_on(
    tree: Any, table: Table, node: int, members: Sequence[Member], rules: Rules
) -> list[list[Member]]:
    """The rows of each child; one that cannot go on stays, or is divided as the others are."""
    children: list[list[Member]] = [[] for _ in range(int(tree.n_children[node]))]
    staying = []
    for row, weight in members:
        slot = step(tree, table, node, row)
        if slot == STAY:
            staying.append((row, weight))
        else:
            children[slot].append((row, weight))
    if rules.missing == "fractional":
        known = [weight_of(child) for child in children]
        for child, part in zip(children, known, strict=True):
            if part > 0:
                child.extend((row, weight * part / sum(known)) for row, weight in staying)
    return children


def split_of(tree: Any, table: Table, node: int, members: Sequence[Member], rules: Rules) -> Split:
    """The split of a node, in the words of the book."""
    column = int(tree.feature[node])
    cells: list[Cell] = cells_of(table, members, column)
    has_missing = any(table.columns[column][row] is None for row, _ in members)
    is_category = table.is_nominal[column] and rules.missing == "category"
    if has_missing and (is_category or not (rules.sees_known or tree.kind[node] == 3)):
        cells.append(None)
    branches: list[set[Cell]] = [set() for _ in range(int(tree.n_children[node]))]
    for cell in cells:
        slot = test_of(tree, node, cell)
        branches[int(tree.missing_slot[node]) if slot == STAY else slot].add(cell)
    if tree.kind[node] == 3 and not branches[-1]:  # the child of categories that are not here
        branches.pop()
    return Split(column, tuple(map(frozenset, branches)), None)


def complaints(tree: Any, table: Table, rules: Rules) -> list[str]:
    """What is wrong with a tree of the library that was grown on all rows of a table."""
    said: list[str] = []
    waiting = [(0, table.members(), 0)]
    while waiting:
        node, members, depth = waiting.pop(0)
        said.extend(f"node {node}: {text}" for text in _miscounted(tree, table, node, members))
        found = _wrong_split(tree, table, node, members, depth, rules)
        said.extend(f"node {node}: {text}" for text in found)
        if tree.kind[node]:
            children = passed_on(tree, table, node, members, rules)
            first = int(tree.first_child[node])
            waiting.extend((first + at, child, depth + 1) for at, child in enumerate(children))
    return said


def _miscounted(tree: Any, table: Table, node: int, members: Sequence[Member]) -> Iterator[str]:
    """Rows that end elsewhere than they were counted, and values that are not theirs."""
    weight = weight_of(members)
    if tree.n_rows[node] != len(members):
        yield f"counted {tree.n_rows[node]} rows, {len(members)} come"
    if abs(float(tree.weight[node]) - float(weight)) > 1e-9 * float(weight):
        yield f"weighs {tree.weight[node]}, its rows weigh {float(weight)}"


def _wrong_split(
    tree: Any, table: Table, node: int, members: Sequence[Member], depth: int, rules: Rules
) -> Iterator[str]:
    """A split that is not the best, or a leaf that should be none."""
    if tree.kind[node] == 0:
        if chosen(table, members, depth, rules):
            yield f"is a leaf, but may be split: {chosen(table, members, depth, rules)[0]}"
        return
    if not may_split(table, members, depth, rules):
        yield "is split, but should be a leaf"
        return
    own = split_of(tree, table, node, members, rules)
    everything = offers(table, members, rules)
    same = [
        split
        for split in everything
        if (split.column, split.branches) == (own.column, own.branches)
    ]
    if not same:
        yield f"has a split that is not admissible: {own}"
        return
    own = same[0]
    gain = float(own.score) / float(weight_of(members))
    if abs(float(tree.gain[node]) - gain) > 1e-9 * max(abs(gain), 1e-3):
        yield f"says that it gains {tree.gain[node]}, the book says {gain}"
    yield from _worse_than(own, best(table, members, rules), everything, table, rules)


def _worse_than(
    own: Split, tops: Sequence[Split], everything: Sequence[Split], table: Table, rules: Rules
) -> Iterator[str]:
    """A better split than the tree's, or one that comes first and is as good."""
    if not tops:
        yield f"is split by {own}, but no split is worth it"
    elif not near(own.score, tops[0].score) or (
        rules.criterion == "gain_ratio" and own.column != tops[0].column
    ):
        yield f"is split by {own}, better is {tops[0]}"
    elif alike(own.score, tops[0].score):
        rivals = everything if rules.criterion != "gain_ratio" else tops
        close = [split for split in rivals if near(split.score, own.score)]
        first = tops[0]
        # Scores that are close but not the same may tie in the library; then nobody is first.
        is_clear = all(alike(split.score, own.score) for split in close)
        is_first = own == first or (own.column == first.column and table.is_nominal[own.column])
        if is_clear and not is_first:
            yield f"is split by {own}, as good and before it is {first}"
