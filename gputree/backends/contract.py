"""The contract between the builder and the backends: vocabulary, messages, verbs.

Vocabulary
----------
code
    The number of a value's bin. The codes of feature `f` are 0 .. n_codes[f]-1; if the feature had
    missing values in training, its last code stands for them.
channel
    One integer summed over the rows of a (node, feature, code) cell. Class trees have a channel a
    class; regression trees have the weight, then a channel an output. Weighted rows add a last
    channel that counts rows.
bin
    A code of a feature among those of all features: `offset[f] + code`.
cell
    The sums of one bin in one node, or one value of a table.
place
    The number of a node among those that are asked about, or of its sums in a histogram.
slot
    The number of a child below its node. A threshold has children 0 and 1; a test of categories may
    have more. STAY in its place keeps rows at the node.
Values, Data, Rows, Hist, RawScores, Urn, Sampler, Marks
    Opaque handles: some columns where the backend computes; all columns as codes; the same with
    channels and the node of every row; sums for some nodes; the predictions of a boosted model so
    far; the rows that its rounds are drawn from; those that samples are drawn from; those that take
    part in a round. Callers pass them on and never open them. For the defaults, a Hist has
    `n_nodes`, `bins` and `channels`, Rows have their `target`, and Marks are one for each row, on
    the host; where a Hist is `Sums`, no search is written.

Every number that crosses the contract is an integer, or a float64 computed from integers by the
formulas of `gputree.kernels.criteria`. So all backends give the same bits.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from gputree.backends.agreement import Offer as Offer
from gputree.backends.answering import Answering
from gputree.backends.boosted_rows import Other as Other
from gputree.backends.boosted_rows import Residuals as Residuals
from gputree.backends.boosted_rows import Watched as Watched
from gputree.backends.lots import Lots
from gputree.backends.moves import Detours as Detours
from gputree.backends.moves import Moves as Moves
from gputree.backends.moves import Siblings as Siblings
from gputree.backends.moves import Staying
from gputree.backends.parts import Dividing
from gputree.backends.parts import Parts as Parts
from gputree.backends.samples import Sampler as Sampler
from gputree.backends.samples import Sampling
from gputree.backends.searches import NO_SPLIT as NO_SPLIT
from gputree.backends.searches import CategoryRates as CategoryRates
from gputree.backends.searches import CategoryRules as CategoryRules
from gputree.backends.searches import CategorySplits as CategorySplits
from gputree.backends.searches import Projections as Projections
from gputree.backends.searches import ProjectionSplits as ProjectionSplits
from gputree.backends.searches import Rates as Rates
from gputree.backends.searches import Search as Search
from gputree.backends.searches import Splits as Splits
from gputree.backends.seen import Seen
from gputree.backends.whole import Boosted, BoostRules, Limits, Whole
from gputree.comm import ALONE, Comm
from gputree.data.bins import Bins, FeatureBins
from gputree.data.gradients import Given, Gradients
from gputree.data.number_line import Buckets
from gputree.data.table import Column, Table
from gputree.data.target import Channels, Target
from gputree.dtypes import Array, HostArray
from gputree.kernels.losses import Loss

if TYPE_CHECKING:
    from gputree.backends.sums import Sums

Values: TypeAlias = Any
Data: TypeAlias = Any
Rows: TypeAlias = Any
Hist: TypeAlias = Any
RawScores: TypeAlias = Any
Urn: TypeAlias = Any
Marks: TypeAlias = Any

Item = TypeVar("Item")
Result = TypeVar("Result")


class Core(Protocol):
    """The verbs that every backend writes; all others follow from them in `backends.defaults`.

    A backend knows nothing of trees under construction, queues or pruning.
    """

    name: str
    device: str

    # Values to codes, a few columns at a time.
    @abstractmethod
    def reserve(
        self, n_features: int, n_rows: int, most_codes: int, folder: Path | None = None
    ) -> Data:
        """Room for the codes of a table, none of which reaches `most_codes`.

        With a folder, in a file there; only where the host computes.
        """
        ...

    @abstractmethod
    def hold(self, columns: Sequence[Column]) -> Values:
        """Bring columns to where the backend computes, until the next call in the same lane."""
        ...

    @abstractmethod
    def count_missing(self, values: Values) -> HostArray:
        """How many values of each column are missing. Adds up over parts of the rows."""
        ...

    @abstractmethod
    def sketch(
        self, values: Values, weight: HostArray | None, within: Sequence[HostArray] | None = None
    ) -> list[tuple[HostArray, HostArray]]:
        """The buckets of each column that hold known values, with their weights; adds up, too.

        With coarse buckets of each column, perhaps none, to look `within`: the fine ones in them.
        """
        ...

    @abstractmethod
    def refine(
        self, values: Values, weight: HostArray | None, wanted: Sequence[Buckets | None]
    ) -> list[tuple[HostArray, HostArray]]:
        """Distinct values and their weights inside the wanted buckets of each column, sorted.

        None wants all buckets. Rows without weight have no say.
        """
        ...

    @abstractmethod
    def encode(
        self,
        data: Data,
        first_feature: int,
        values: Values,
        bins: Sequence[FeatureBins],
        first_row: int = 0,
    ) -> None:
        """Write the codes of some columns, which are the features from `first_feature` on.

        Their rows are those from `first_row` on; there may be more.
        """
        ...

    # Rows at nodes, and their sums.
    @abstractmethod
    def begin(
        self, data: Data, bins: Bins, target: Target, n_each: HostArray | None = None
    ) -> Rows:
        """Attach channels; rows without weight stay outside, all others start at the root.

        Where several trees grow together, the first n_each[0] rows start at node 0, the next
        n_each[1] rows at node 1, and so on; all of them have a weight then.
        """
        ...

    @abstractmethod
    def take_rows(self, data: Data, row: HostArray) -> Data:
        """The codes of some rows, in their order; a row may come again."""
        ...

    @abstractmethod
    def tally(self, rows: Rows, nodes: HostArray) -> Hist:
        """Sums of the nodes by feature, code and channel. Adds up over parts of the rows."""
        ...

    @abstractmethod
    def codes_of(self, rows: Rows, row: HostArray, feature: HostArray) -> HostArray:
        """The code of a feature in a row, for each pair of them."""
        ...

    @abstractmethod
    def disperse(self, rows: Rows, nodes: HostArray, row: HostArray, node: HostArray) -> Rows:
        """Take all rows from `nodes`, and put `row[i]` at `node[i]`."""
        ...

    @abstractmethod
    def leaves(self, rows: Rows) -> HostArray:
        """The node where each row ended, OUTSIDE for rows that took no part."""
        ...


class Backend(Core, Staying, Dividing, Sampling, Answering, Protocol):
    """The core, and the verbs that have a default."""

    grows_whole: bool  # whether `grow_whole` is worth asking
    boosts: bool  # whether `boost` is
    answers_there: bool  # whether `answer` is
    projects: bool  # whether `grow_whole` knows random projections, and predictions combinations
    counts_freely: bool  # whether it costs nothing to ask how many rows nodes have
    measures_there: bool  # whether `apart` is
    # Whether trees that can share a frontier are grown sooner so than each by itself.
    shares_frontiers: bool
    # Whether another backend takes over later; handles but for codes are then to be made anew.
    is_starting: bool

    @property
    def can_go_over(self) -> bool:
        """Whether `go_over` can be called now."""
        ...

    def go_over(self) -> None:
        """Let the backend go on that takes over from this one."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of how the work was done."""
        ...

    @property
    def compile_seconds(self) -> float:
        """Time spent compiling kernels since the process began."""
        ...

    @property
    def n_lanes(self) -> int:
        """How many tasks `each` runs at the same time."""
        ...

    def each(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results of a task for each item, in order; tasks may call the verbs of binning."""
        ...

    # Once a round of boosting.
    def raw_scores(self, start: HostArray, y: HostArray, weight: HostArray | None) -> RawScores:
        """The target of every row and its predictions so far, (outputs, rows)."""
        ...

    def urn(self, raw_scores: RawScores, lots: Lots) -> Urn:
        """The rows that rounds are drawn from, where the backend computes."""
        ...

    def drawn(self, urn: Urn, seed: int, draw: int, share: float) -> Marks | None:
        """The rows that take part in a round, as `Lots.drawn` finds them; None for all."""
        ...

    def gradients(
        self,
        raw_scores: RawScores,
        loss: Loss | Given,
        takes_part: Marks | None,
        *,
        counts_rows: bool,
        comm: Comm = ALONE,
    ) -> Iterator[Gradients]:
        """Gradients and hessians of a loss at the predictions, one output after another.

        Scales and totals are those of all rows that `comm` knows of, and so is their number.

        The predictions must not change before the last one. The gradients of an output stay until
        those of the next are asked for.

        Rows that do not take part stay outside, as do those without weight. `counts_rows` asks for
        a channel that tells how many rows a sum is of, where weights do not.
        """
        ...

    def begin_gradients(self, data: Data, bins: Bins, gradients: Gradients) -> Rows:
        """Attach gradients as channels; all rows that take part start at the root."""
        ...

    def gradient_sums(self, rows: Rows, gradients: Gradients, nodes: HostArray) -> HostArray:
        """Wide sums of gradient and hessian of the rows at some nodes, (nodes, 2)."""
        ...

    def renew(self, raw_scores: RawScores, output: int, rows: Rows, step: HostArray) -> None:
        """Add step[node] to one prediction of each row that is at a node."""
        ...

    def pass_on(
        self,
        raw_scores: RawScores,
        output: int,
        data: Data,
        bins: Bins,
        takes_part: Marks,
        moves: Iterable[Moves],
        step: HostArray,
    ) -> None:
        """Send the rows that take no part down a finished tree, and add step[node] where they end.

        `moves` are those of its nodes, from the root on.
        """
        ...

    def residuals(self, raw_scores: RawScores, rows: Rows, number: HostArray) -> Residuals:
        """What targets are above the first prediction; rows at a node count for number[node]."""
        ...

    def watched(
        self, raw_scores: RawScores, row: HostArray, y: HostArray, weight: HostArray
    ) -> Watched:
        """Some rows to watch, with their targets and weights; all of them weigh something."""
        ...

    def other_rows(self, table: Table, start: HostArray, y: HostArray, weight: HostArray) -> Other:
        """The rows of a table of values to watch; `start` has what their predictions begin with."""
        ...

    def read_raw_scores(self, raw_scores: RawScores) -> HostArray:
        """The predictions, (outputs, rows)."""
        ...

    # Once a frontier.
    def count_rows(self, rows: Rows, nodes: HostArray) -> HostArray:
        """How many rows some nodes have."""
        ...

    def dense(self, hist: Hist) -> "Sums":
        """The sums of all features on the host; those of two parts of the rows can be added."""
        ...

    def sum_up(self, rows: Rows, nodes: HostArray) -> Array:
        """The sums of some nodes as integers that add up over parts of the rows.

        (nodes, bins, numbers), for each bin as many as the backend likes; on the host, or where
        the backend computes.
        """
        ...

    def hist_of(self, rows: Rows, sums: Array, bins: Bins) -> Hist:
        """Sums as `sum_up` gives them, perhaps of several parts and of some of the features only.

        `bins` are those of the features, `rows` those of any of the parts.
        """
        ...

    def derive(self, built: Hist, siblings: Siblings, above: Hist | None) -> Hist:
        """Sums of a frontier from those tallied and those of the parents."""
        ...

    def best_splits(self, hist: Hist, search: Search) -> Splits:
        """Score every candidate of every node; larger score, then lower feature, then lower code.

        The missing code goes to child 1 where that ties with child 0; a node without missing
        values sends later ones to its larger child, child 1 if both are equal.
        """
        ...

    def rate(self, hist: Hist, search: Search) -> Rates:
        """The best threshold of every ordered feature of every node, as if rows whose value is
        missing were not there; ties go to the lower code.
        """
        ...

    def best_projections(
        self,
        rows: Rows,
        nodes: HostArray,
        key: HostArray,
        projections: Projections,
        search: Search,
        score: HostArray,
    ) -> ProjectionSplits:
        """The best split of each node by random projections, where it is worth more than `score`.

        Node i draws by key[i]. See `backends.projections`: draws, sums, steps, and which one wins.
        """
        ...

    def cells(self, hist: Hist, place: HostArray, feature: HostArray) -> HostArray:
        """The sums of some features of some nodes, each given by its place in the frontier.

        (codes, channels): the codes of the first pair, then those of the next, and so on.
        """
        ...

    def seen(self, hist: Hist, place: HostArray, feature: HostArray) -> Seen:
        """The same without codes that do not occur."""
        ...

    def rate_categories(
        self,
        hist: Hist,
        place: HostArray,
        feature: HostArray,
        rules: CategoryRules,
        most_seen: HostArray,
    ) -> CategoryRates:
        """What splits of nominal features are worth; at most so many entries are `seen` of each."""
        ...

    def split_categories(
        self, hist: Hist, seen: Seen, feature: HostArray, rules: CategoryRules
    ) -> CategorySplits:
        """The best splits of nominal features by what was seen, as `backends.categories` tells."""
        ...

    def span(self, rows: Rows, nodes: HostArray) -> HostArray:
        """Smallest and largest target of the nodes' rows, (nodes, outputs, 2)."""
        ...

    def route(self, rows: Rows, moves: Moves) -> Rows:
        """Send rows to children; the old rows may have become the new ones: forget them."""
        ...

    def rows_at(self, rows: Rows, nodes: HostArray) -> tuple[HostArray, HostArray]:
        """The numbers of the rows at some nodes, node by node, and how many each node has."""
        ...

    def row_keys(self, data: Data, bins: Bins, is_in: HostArray) -> HostArray:
        """A number of each row that is in, uint64, that depends on what all of its cells hold.

        Cells count by the numbers of their bins, which no other table of the same values changes.
        """
        ...

    def row_order(
        self,
        data: Data,
        bins: Bins,
        is_in: HostArray,
        answers: HostArray,
        weight: HostArray | None,
    ) -> HostArray:
        """The numbers of the rows that are in, sorted by what they hold: codes, answers, weights.

        `answers` are numbers, (rows,) or (rows, outputs). Rows that agree in all keep their order.
        """
        ...

    # Once some trees.
    def grow_whole(
        self,
        roots: Sequence[Rows],
        totals: HostArray,
        keys: HostArray,
        search: Search,
        limits: Limits,
        then: Callable[[int, Whole], Result],
    ) -> list[Result] | None:
        """What becomes of trees on rows at their roots, grown as the other verbs would grow them.

        There are as many roots as rows, or all rows are in one and have several roots; then there
        is one result. `totals` are the sums of the roots, (roots, channels), and `keys` what their
        draws follow from. `then` is told the number of the rows and their tree as soon as this is
        there, perhaps in another thread. None where the backend has no quicker way than these
        verbs.
        """
        ...

    # Once some rounds.
    def boost(
        self,
        data: Data,
        bins: Bins,
        raw_scores: RawScores,
        rules: BoostRules,
        takes_part: HostArray | None,
        columns: HostArray | None,
        keys: HostArray,
    ) -> Boosted | None:
        """The trees of some rounds, as the other verbs would grow them; predictions move on.

        `takes_part` tells which rows do, (rounds, rows), and `columns` which ones a tree may test,
        (trees, features); None: all. `keys` are what the draws of each tree follow from, (trees,),
        an output after another. None where the backend has no quicker way than the other verbs.
        """
        ...

    # After a tree.
    def apart(
        self, rows: Rows, nodes: HostArray, mean: HostArray, scale: HostArray
    ) -> tuple[HostArray, int]:
        """How far the targets of the rows at some nodes are from means, (outputs, nodes).

        Targets are brought to the units of the means by the `scale` of each output. What the
        criterion calls the distance is added up by node, as whole numbers of 2**-shift, a shift as
        large as there is room for.
        """
        ...

    def hist_bytes(self, bins: Bins, channels: Channels, n_rows: HostArray) -> HostArray:
        """What searching nodes of so many rows occupies, mostly their sums; (nodes,)."""
        ...

    def room_for_hists(self) -> int | None:
        """Bytes that sums may take at most; None where memory is not known to be short."""
        ...

    def release(self) -> None:
        """Return memory that was kept for the next call."""
        ...

    def bytes_held(self, data: Data, rows: Rows | None) -> int:
        """What codes and rows occupy."""
        ...
