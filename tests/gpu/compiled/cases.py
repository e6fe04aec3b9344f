"""Every kernel, with the types that the backend passes and the sizes it is launched with."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from gputree.backends.cuda.plan import Tuning, plan_groups
from gputree.dtypes import STAY
from gputree.kernels.criteria import ENTROPY, ERROR, GINI, SOURCES
from gputree.kernels.cuda import (
    agree,
    attribution,
    binning,
    branches,
    categories,
    distances,
    draws,
    few_rows,
    gradients,
    grow,
    histogram,
    leaves,
    parts,
    predict,
    route,
    samples,
    seen,
    sort,
    split,
)
from gputree.kernels.losses import IDENTITY, LOG, LOGIT, LOGITS, every_loss

TUNING = Tuning()
WARP = 32  # of a device; that of the simulator is smaller

# What the arrays hold, by the name of the argument, which means the same in every kernel. Names
# that are not here are whole numbers.
ARRAYS = {
    **dict.fromkeys(("tile", "test", "bound", "before", "offset", "n_values", "root"), "i8"),
    **dict.fromkeys(("own_place", "above_place", "amount", "key", "low", "high"), "i8"),
    **dict.fromkeys(("key_of", "winner", "rate", "way", "piece", "category_start"), "i8"),
    **dict.fromkeys(("output", "nodes", "first_tile", "count"), "i8"),
    **dict.fromkeys(("place_of", "tallied", "place", "item_code", "n_known"), "i4"),
    **dict.fromkeys(("rated", "first_entry", "seen", "first_edge", "n_points"), "i8"),
    **dict.fromkeys(("edge", "slots"), "i4"),
    **dict.fromkeys(("others", "point", "quadrature", "node_share", "node_value"), "f8"),
    **dict.fromkeys(("path", "credited"), "f8"),
    **dict.fromkeys(
        ("list_place", "offer", "first_test", "otherwise", "last_low", "low_slot"), "i8"
    ),
    **dict.fromkeys(("large", "first_tallied", "column_at"), "i8"),
    **dict.fromkeys(("seat", "from_seat", "summed", "few", "drawing", "turn"), "i4"),
    "draw_key": "u8",
    **dict.fromkeys(("largest", "sums"), "i8"),
    **dict.fromkeys(("group", "frontier", "doubtful", "order", "moved", "limb", "limbs"), "i4"),
    **dict.fromkeys(("channel_plane", "channel_limbs", "rank", "n_right", "node", "leaf"), "i4"),
    **dict.fromkeys(("n_missing", "n_found", "member_row", "cut_start", "missing_code"), "i4"),
    **dict.fromkeys(("column", "first_child", "row", "feature", "found"), "i4"),
    **dict.fromkeys(("words", "longer", "flags"), "u4"),
    **dict.fromkeys(("page_of", "numbers", "missing_slot", "category", "category_slot"), "u2"),
    **dict.fromkeys(("label", "table", "is_fine", "is_wanted", "is_inside"), "u1"),
    **dict.fromkeys(("unit", "trimmed_of", "score_of", "threshold", "item_key"), "f8"),
    **dict.fromkeys(("leaf_value", "initial", "total", "answer"), "f8"),
    **dict.fromkeys(("y", "raw", "step", "gradient", "hessian", "most", "volume"), "f8"),
}
OTHERS = {
    **dict.fromkeys(("is_classes", "counts_rows", "is_curved", "is_weighted"), "b1"),
    **dict.fromkeys(
        ("derives", "goes_deeper", "counts_missing", "learns_side", "by_rank", "has_ones"), "b1"
    ),
    **dict.fromkeys(("is_principal", "is_optimal", "is_listed"), "b1"),
    **dict.fromkeys(("least_share", "ridge", "constant", "least_worth"), "f8"),
    **dict.fromkeys(("scale", "share", "farthest"), "f8"),
    **dict.fromkeys(("gradient_scale", "hessian_scale", "divisor"), "f8"),
}

# What a row adds: a one to the sums of its class; limbs of weight and targets, and a one; the same
# in 32 bits where targets are gradients; gradients and hessians, which nothing counts.
ADDED = {
    "ones": ((False, True), "i4"),
    "limbs": ((True, True), "i8"),
    "gradients": ((True, True), "i4"),
    "gradients and hessians": ((True, False), "i4"),
}


@dataclass(frozen=True)
class Case:
    """A kernel for some types."""

    name: str
    kernel: Any
    threads: int  # of a block
    shared: tuple[int, ...] = (0,)  # bytes beside its own: the usual, and the most if that is more
    arrays: Mapping[str, str] = field(default_factory=dict)  # those that differ between cases

    @property
    def body(self) -> Any:
        return self.kernel.fn if hasattr(self.kernel, "fn") else self.kernel.py_func

    @property
    def types(self) -> tuple[str, ...]:
        """The type of each argument, arrays with brackets."""
        arrays = {**ARRAYS, **self.arrays}
        return tuple(
            f"{arrays[name]}[]" if name in arrays else OTHERS.get(name, "i8")
            for name in inspect.signature(self.body).parameters
        )


def all_cases() -> list[Case]:
    return [
        *sums(),
        *scatters(),
        *splits(),
        *groups(),
        *routes(),
        *sampling(),
        *boosting(),
        *sorting(),
        *codings(),
        *growth(),
        *others(),
    ]


def sums() -> Iterator[Case]:
    usual = plan_groups(np.full(16, 256), n_planes=2, code_bits=8).shared_bytes
    shared = usual, 4 * histogram.SHARED_WORDS
    for bits, is_wide, added in product((8, 16), (True, False), ADDED):
        name = f"sum_tiles {bits}-bit {'wide' if is_wide else 'narrow'} {added}"
        adds, hist = ADDED[added]
        kernel = histogram.make_sum(bits, is_wide, *adds)
        yield Case(name, kernel, TUNING.sum_threads, shared, {"hist": hist})
    many = {"hist": "i4", "label": "i4"}
    kernel = histogram.make_sum(8, False, False, True)
    yield Case("sum_tiles 8-bit narrow ones 300 classes", kernel, TUNING.sum_threads, shared, many)


def scatters() -> Iterator[Case]:
    for bits, added in product((8, 16), ADDED):
        adds, hist = ADDED[added]
        kernel = histogram.make_scatter(bits, *adds)
        name = f"scatter_tiles {bits}-bit {added}"
        yield Case(name, kernel, TUNING.threads, arrays={"hist": hist})
    many = {"hist": "i4", "label": "i4"}
    kernel = histogram.make_scatter(8, False, True)
    yield Case("scatter_tiles 8-bit ones 300 classes", kernel, TUNING.threads, arrays=many)


def splits() -> Iterator[Case]:
    threads = TUNING.scan_warps * WARP
    two_classes = 16 * TUNING.scan_warps * 2
    for hist in ("i4", "i8"):
        for kind, make in {"scan": split.make_scan, "rate": split.make_rate}.items():
            for source in SOURCES:
                name = f"{kind}_features {source.__name__} {hist}"
                arrays = dict.fromkeys(("hist", "own", "above"), hist)
                yield Case(name, make(source), threads, (two_classes,), arrays)
        name = f"choose_features {hist}"
        yield Case(name, split.make_choose(), threads, arrays={"hist": hist})
    # Sums of two classes with a count, candidates and keys.
    shared = (8 * (3 + TUNING.scan_warps * (3 + few_rows.TOLD)) + 4 * 4 * TUNING.few_rows,)
    for source, label in [*((source, "u1") for source in SOURCES), (SOURCES[0], "i4")]:
        name = f"search_features {source.__name__} {label}"
        yield Case(name, few_rows.make_search(source), threads, shared, {"label": label})


def groups() -> Iterator[Case]:
    threads = TUNING.category_threads
    two_classes = 8 * (categories.BOARD + categories.SUMS * 2)
    for hist in ("i4", "i8"):
        arrays = {"hist": hist}
        for source in SOURCES:
            for only_by_means in (True, False):
                kernel = categories.make_rate_categories(source, only_by_means)
                name = f"rate_categories {source.__name__} {hist}"
                name += " by means" if only_by_means else ""
                yield Case(name, kernel, threads, (two_classes,), arrays)
        for source in (GINI, ENTROPY, ERROR):
            kernel = branches.make_rate_branches(source.formulas, source.sums_by_branch)
            name = f"rate_branches {source.formulas.__name__} {hist}"
            yield Case(name, kernel, WARP, (8 * (categories.BOARD + 5),), arrays)
        yield Case(f"count_seen {hist}", seen.count_seen, threads, arrays=arrays)
        yield Case(f"gather_seen {hist}", seen.gather_seen, threads, arrays=arrays)


def routes() -> Iterator[Case]:
    threads = TUNING.route_threads
    for code in ("u1", "u2"):
        kernel = route.make_choose(TUNING.route_rows)
        yield Case(f"choose {code}", kernel, threads, arrays={"code": code})
        kernel = route.make_choose(TUNING.route_rows, by_threshold=True)
        yield Case(f"choose by threshold {code}", kernel, threads, arrays={"code": code})
        yield Case(f"count_ways {code}", route.count_ways, threads, arrays={"code": code})
        arrays = {"code": code, "n_values": "i8", "way": "u4"}
        yield Case(f"detour {code}", route.make_detour(STAY), threads, arrays=arrays)
        yield Case(f"read_codes {code}", route.read_codes, TUNING.threads, arrays={"code": code})
    add_up = route.make_add_up(TUNING.add_up_threads)
    yield Case("add_up", add_up, TUNING.add_up_threads)
    yield Case("move_rows", route.make_move(TUNING.route_rows), threads)
    for kind in ("i4", "i8", "f4", "f8"):
        arrays = {"source": kind, "picked": kind}
        yield Case(f"pick {kind}", route.pick, threads, arrays=arrays)
    yield Case("copy_rows", route.copy_rows, TUNING.threads)
    yield Case(
        "list_tiles", route.list_tiles, TUNING.threads, arrays={"start": "i8", "n_rows": "i8"}
    )
    yield Case("collect", route.collect, threads, arrays={"ahead": "i8", "collected": "i4"})
    yield Case("fill", route.fill, TUNING.threads, arrays={"out": "i4"})
    yield Case("mark", route.mark, threads)
    yield Case("span", route.span, threads)


def growth() -> Iterator[Case]:
    threads = TUNING.grow_threads
    for hist in ("i4", "i8"):
        arrays = {"hist": hist, "n_values": "i8"}
        yield Case(f"agree {hist}", agree.agree, TUNING.threads, arrays=arrays)
    makers = grow.make_doubt, grow.make_decide, grow.make_settle, grow.make_list_tallied
    for make in makers:
        yield Case(make.__name__.removeprefix("make_"), make(threads), threads)
    yield Case("rank_features", grow.rank_features, TUNING.threads)
    for kind in ("i4", "i8", "u8"):
        yield Case(f"copy {kind}", grow.copy, TUNING.threads, arrays={"source": kind, "out": kind})


def sampling() -> Iterator[Case]:
    """Samples of rows, what they add, and how far they are from means."""
    threads, over_rows = TUNING.threads, TUNING.gradient_threads
    by_tiles = TUNING.route_threads
    yield Case("number_rows", samples.number_rows, threads)
    arrays = {"counts": "i4", "reached": "i8"}
    yield Case("draw_with_replacement", samples.draw_with_replacement, threads, arrays=arrays)
    yield Case("mix_numbers", samples.mix_numbers, threads, arrays={"bits": "u8"})
    arrays = {"counts": "i4", "place": "i4"}
    yield Case("count_once", samples.count_once, threads, arrays=arrays)
    arrays = {"counts": "i4", "mark": "u1"}
    yield Case("mark_drawn", samples.mark_drawn, over_rows, arrays=arrays)
    for each in ("i8", "f8"):
        arrays = {"counts": "i4", "each": each, "unit": "i8"}
        yield Case(f"sum_amounts {each}", samples.sum_amounts, over_rows, arrays=arrays)
        yield Case(f"take_amounts {each}", samples.take_amounts, threads, arrays=arrays)
    for label in ("u1", "i4"):
        arrays = {"counts": "i4", "each": "i8", "label": label}
        yield Case(f"sum_classes {label}", samples.sum_classes, over_rows, arrays=arrays)
    arrays = {"counts": "i4", "each": "i8", "unit": "i8", "label": "i4"}
    yield Case("take_amounts 300 classes", samples.take_amounts, threads, arrays=arrays)
    for value in ("u1", "i4", "f8"):
        arrays = {"at": "i4", "value": value, "picked": value}
        yield Case(f"pick_each {value}", leaves.pick_each, threads, arrays=arrays)
    for code, label in product(("u1", "u2"), ("u1", "i4")):
        arrays = {"code": code, "label": label, "first_child": "i8", "share": "f8", "table": "u2"}
        arrays |= {"weight": "i8", "next_place": "i8", "row_out": "i4", "weight_out": "i8"}
        yield Case(f"count_parts {code} {label}", parts.count_parts, by_tiles, arrays=arrays)
        if label == "u1":
            yield Case(f"move_parts {code}", parts.move_parts, by_tiles, arrays=arrays)
    arrays = {"ahead": "i8", "order": "i8", "collected": "i8"}
    yield Case("collect i8", route.collect, by_tiles, arrays=arrays)
    yield Case("order_points", leaves.order_points, threads)
    for is_counts in (False, True):
        arrays = {"unit": "f8", "scale": "f8", "mean": "f8", "point": "f8"}
        kernels = zip(
            ("farthest", "add_distances"), distances.make_distances(is_counts), strict=True
        )
        for name, kernel in kernels:
            name = f"{name} {'counts' if is_counts else 'values'}"
            yield Case(name, kernel, by_tiles, arrays=arrays)


def boosting() -> Iterator[Case]:
    threads = TUNING.gradient_threads
    kernels = {
        loss.name: gradients.make_gradients(loss.formulas, loss.is_of_shares)
        for loss in every_loss()
    }
    for name, kernel in {**kernels, "given": gradients.make_gradients()}.items():
        yield Case(f"take_gradients {name}", kernel, threads, arrays={"weight": "f8"})
    yield Case("volumes", gradients.make_volumes(), TUNING.threads)
    yield Case("widen", gradients.widen, threads)
    yield Case("narrow", gradients.narrow, threads)
    for loss in every_loss():
        kernel = gradients.make_losses(loss.formulas, loss.is_of_shares)
        arrays = {"weight": "f8", "loss": "f8"}
        yield Case(f"take_losses {loss.name}", kernel, threads, arrays=arrays)
    yield Case("add_steps", gradients.add_steps, TUNING.threads)
    yield Case("add_losses", gradients.add_losses, threads, arrays={"loss": "f8"})
    yield Case("take_keys", draws.take_keys, TUNING.threads)
    words = {"number": "u8", "content": "u8", "bits": "u8"}
    yield Case("mix_bits", draws.mix_bits, TUNING.threads, arrays=words)
    for code in ("u1", "u2"):
        arrays = {**words, "code": code}
        yield Case(f"mix_codes {code}", draws.mix_codes, TUNING.threads, arrays=arrays)
    arrays = dict.fromkeys(("may_be", "has_weight", "is_taken"), "u1")
    yield Case("draw_rows", draws.draw_rows, threads, arrays=arrays)
    for code in ("u1", "u2"):
        arrays = {"code": code, "is_taken": "u1", "tested": "i4", "slots": "i8", "table": "u2"}
        yield Case(f"pass_on {code}", draws.pass_on, TUNING.threads, arrays=arrays)
    yield Case("sum_gradients", gradients.sum_gradients, TUNING.route_threads)
    yield Case("renew", gradients.renew, TUNING.route_threads)


def sorting() -> Iterator[Case]:
    threads = TUNING.sort_threads
    count = sort.make_count_digits(TUNING.sort_rows)
    yield Case("count_digits", count, threads)
    move = sort.make_move_by_digit(TUNING.sort_rows, threads)
    yield Case("move_by_digit", move, threads, arrays={"key_out": "i8", "row_out": "i4"})
    amounts = ("residual", "value", "weight", "middle", "picked", "taken", "total", "moved")
    arrays = {**dict.fromkeys(amounts, "f8"), **dict.fromkeys(("start", "n_rows", "at"), "i8")}
    by_rows = ("take_residuals", "take_clipped", "take_weights", "take_leaves")
    for name in (*by_rows, "pick_each", "reach", "add_in_order"):
        own = dict(arrays)
        if name in by_rows:
            del own["n_rows"]
        yield Case(name, getattr(leaves, name), TUNING.threads, arrays=own)


def codings() -> Iterator[Case]:
    names = "count", "count_fine", "gather", "list_distinct"
    counting = {name: getattr(binning, name) for name in names}
    for (name, kernel), value, amount in product(counting.items(), ("f4", "f8"), ("i4", "i8")):
        arrays = {"values": value, "members": value, "weight": amount, "counts": amount}
        yield Case(f"{name} {value} {amount}", kernel, TUNING.threads, arrays=arrays)
    for value in ("f4", "f8"):
        arrays = {"source": value, "values": value}
        kernel = binning.make_turn(value == "f8")
        yield Case(f"turn {value}", kernel, TUNING.route_threads, arrays=arrays)
    for bits, value in product((8, 16), ("f4", "f8")):
        arrays = {"values": value, "cut": value, "by_column": f"u{bits // 8}"}
        name = f"encode {bits}-bit {value}"
        yield Case(name, binning.make_encode(bits), TUNING.threads, arrays=arrays)


def others() -> Iterator[Case]:
    yield Case("divide", histogram.divide, TUNING.threads)
    arrays = dict.fromkeys(("start", "n_rows", "place"), "i8")
    yield Case("list_sum_tiles", histogram.list_sum_tiles, TUNING.threads, arrays=arrays)
    for hist in ("i4", "i8"):
        arrays = {"own": hist, "above": hist, "hist": hist}
        yield Case(f"derive {hist}", histogram.derive, TUNING.threads, arrays=arrays)
    walks = {"leaves_of": predict.make_leaves_of, "sum_leaves": predict.make_sum_leaves}
    for value, has_categories in product(("f4", "f8"), (False, True)):
        for verb, make in walks.items():
            name = f"{verb} {value} {'categories' if has_categories else 'thresholds'}"
            kernel = make(has_categories, STAY)
            yield Case(name, kernel, TUNING.threads, arrays={"values": value})
        name = f"attribute {value} {'categories' if has_categories else 'thresholds'}"
        kernel = attribution.make_attribute(has_categories, STAY)
        yield Case(name, kernel, TUNING.attribution_threads, arrays={"values": value})
    for link in (IDENTITY, LOG, LOGIT, LOGITS):
        kernel = predict.make_linked(link.answer, link.raw is None)
        yield Case(f"link_sums {link.name}", kernel, TUNING.threads)
    yield Case("turn_leaves", predict.turn_leaves, TUNING.threads, arrays={"turned": "i8"})
    yield Case("divide_sums", predict.divide_sums, TUNING.threads)
    yield Case("name_largest", predict.name_largest, TUNING.threads, arrays={"label": "f8"})
