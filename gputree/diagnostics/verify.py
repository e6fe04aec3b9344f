"""A device proves itself: known histograms, and whole fits that must have the bytes of NumPy's.

Knows estimators and the CUDA backend, which is imported when a device is tested; must not know how
kernels work.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gputree.backends.contract import Backend
from gputree.backends.registry import choose
from gputree.boosting.gradient import GradientBoostingClassifier
from gputree.boosting.gradient_regressor import GradientBoostingRegressor
from gputree.data.cuts import bin_table
from gputree.data.inputs import read_table
from gputree.data.target import whole_weights
from gputree.diagnostics import golden
from gputree.dtypes import HostArray
from gputree.ensembles.forests import RandomForestClassifier
from gputree.estimators.classic import C45Classifier
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.fit.dataset import Dataset

if TYPE_CHECKING:
    from gputree.backends.cuda.device import Device
    from gputree.backends.cuda.plan import Tuning

ROOT = np.zeros(1, np.int64)
CODE_LIMITS = {"8-bit codes": 256, "16-bit codes": 257}


@dataclass(frozen=True)
class Check:
    """One thing that was compared."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class SelfTest:
    """What was compared on a device."""

    device: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        n_passed = sum(check.passed for check in self.checks)
        verdict = "passed" if self.passed else "FAILED"
        head = f"{verdict} on {self.device}: {n_passed} of {len(self.checks)} checks"
        return "\n".join([head, *(_line(check) for check in self.checks)])


def _line(check: Check) -> str:
    return f"  {'ok    ' if check.passed else 'FAILED'}  {check.name}: {check.detail}"


@dataclass(frozen=True)
class Size:
    """How much is computed."""

    n_rows: int
    n_features: int
    max_depth: int
    histogram_budget: int  # bytes: a few nodes at a time
    n_repeats: int  # of the golden table
    n_retuned: int  # cases that are fitted with every tuning


# More rows than are listed at once, so that quantiles are found by buckets; several tiles of rows.
REAL = Size(40_000, 20, 8, 2**20, 400, 8)
SIMULATED = Size(24, 3, 2, 1_500, 1, 1)  # a thread of the simulator is a thread of the host


@dataclass(frozen=True)
class Case:
    """A fit: what is learnt, and by which parameters."""

    name: str
    n_classes: int = 2  # 0 for a regression
    is_weighted: bool = False
    has_missing: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    is_short_of_memory: bool = False

    def table(self, size: Size) -> tuple[HostArray, HostArray, HostArray | None]:
        """X, y and weights."""
        rng = np.random.default_rng(len(self.name))
        X = rng.standard_normal((size.n_rows, size.n_features)).astype(np.float32)
        signal = X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(size.n_rows) / 4
        y: HostArray = signal.astype(np.float64)
        if self.n_classes:
            y = np.floor(signal * 2).astype(np.int64) % self.n_classes
        weight = rng.choice([0.0, 0.3, 1.0, 7.25], size.n_rows) if self.is_weighted else None
        if self.has_missing:
            X[rng.random(X.shape) < 0.2] = np.nan
        return X, y, weight

    def estimator(self, **where: Any) -> DecisionTreeClassifier | DecisionTreeRegressor:
        """An estimator that is not fitted."""
        kind = DecisionTreeClassifier if self.n_classes else DecisionTreeRegressor
        return kind(**self.params, **where)


# The first one takes the most ways through the kernels.
CASES = (
    Case("regression, weights, missing values", 0, is_weighted=True, has_missing=True),
    Case("two classes"),
    Case("seven classes, missing values", 7, has_missing=True, params={"criterion": "entropy"}),
    Case("regression", 0),
    Case("two classes, weights", is_weighted=True),
    Case("two classes, 16-bit codes", params={"max_bins": 1_000}),
    Case("two classes, features drawn", params={"max_features": 2, "random_state": 3}),
    Case("two classes, small histogram_budget", is_short_of_memory=True),
)


# Models that a user asks for by their names, and what each is fitted on.
NAMED: Mapping[str, tuple[Callable[..., Any], Case]] = {
    "tree": (DecisionTreeRegressor, CASES[0]),
    "C4.5, with rows that are divided": (C45Classifier, CASES[2]),
    "random forest": (partial(RandomForestClassifier, 3, random_state=0), CASES[2]),
    "boosting of classes": (partial(GradientBoostingClassifier, 2), CASES[4]),
    "boosting of numbers": (
        partial(GradientBoostingRegressor, 2, min_child_weight=1.0, max_leaf_nodes=6),
        CASES[3],
    ),
}


def selftest(device: str = "cuda") -> SelfTest:
    """Check that a GPU computes the same integers and models as NumPy.

    Histograms of a small table are compared with integers that are part of the package; whole fits
    and predictions are compared with NumPy's, byte for byte, by kernels of several block and tile
    sizes, which are compiled first. Where numba simulates CUDA (`NUMBA_ENABLE_CUDASIM=1`), the
    simulator is tested instead, on smaller tables.

    Parameters
    ----------
    device : {'cuda', 'cuda:N'}, default='cuda'
        The GPU to check.

    Returns
    -------
    SelfTest
        `passed`, and `checks` with a `name`, `passed` and `detail` each; as text, one line per
        check.

    Raises
    ------
    BackendUnavailable
        If there is no such device. A failed check, even by an error, is part of the result.

    Examples
    --------
    >>> import gputree
    >>> try:
    ...     print(gputree.selftest("cuda:99"))
    ... except gputree.BackendUnavailable as reason:
    ...     print("not tested:", reason)
    not tested: ...
    """
    opened = choose(device, "cuda").backend
    # Imported here: it loads numba.cuda, which can only be there where a device has been found.
    from gputree.backends.cuda.device import open_device
    from gputree.kernels.cuda import gpu

    size = SIMULATED if gpu.SIMULATED else REAL
    handle = open_device(f"cuda:{device.partition(':')[2] or 0}")
    tunings = _tunings()
    checks = [_golden_check(handle, tunings, kind, size) for kind in golden.HISTOGRAM]
    checks += [_fit_check(handle, tunings["usual"], case, size) for case in CASES]
    checks += [_tuning_check(handle, tunings, case, size) for case in CASES[: size.n_retuned]]
    checks += [_named_check(device, name, size) for name in NAMED]
    return SelfTest(opened.device, tuple(checks))


def _tunings() -> "dict[str, Tuning]":
    """Sizes of blocks and tiles, by name."""
    from gputree.backends.cuda.plan import AUTOMATIC
    from gputree.kernels.cuda.gpu import WARP

    return {
        "usual": AUTOMATIC,
        "half": replace(
            AUTOMATIC,
            sum_threads=AUTOMATIC.sum_threads // 2,
            tile_rows=AUTOMATIC.tile_rows // 3,
            direct_rows=0,
            scan_warps=max(1, AUTOMATIC.scan_warps // 2),
            route_threads=AUTOMATIC.route_threads // 2,
            route_rows=AUTOMATIC.route_rows // 2,
            add_up_threads=AUTOMATIC.add_up_threads // 2,
            threads=AUTOMATIC.threads // 2,
            grow_threads=AUTOMATIC.grow_threads // 2,
            gradient_threads=AUTOMATIC.gradient_threads // 2,
            gradient_blocks=AUTOMATIC.gradient_blocks // 2,
            few_rows=0,
            category_threads=max(WARP, AUTOMATIC.category_threads // 2),
            attribution_threads=max(WARP, AUTOMATIC.attribution_threads // 2),
            staged_bytes=AUTOMATIC.staged_bytes // 2,
            value_slots=AUTOMATIC.value_slots // 2,
            sort_threads=AUTOMATIC.sort_threads // 2,
            sort_rows=AUTOMATIC.sort_rows // 2,
        ),
        "double": replace(
            AUTOMATIC,
            sum_threads=AUTOMATIC.sum_threads * 2,
            direct_rows=0,
            scan_warps=AUTOMATIC.scan_warps * 2,
            route_threads=AUTOMATIC.route_threads * 2,
            route_rows=AUTOMATIC.route_rows * 2,
            threads=AUTOMATIC.threads * 2,
            gradient_threads=AUTOMATIC.gradient_threads * 2,
            gradient_blocks=AUTOMATIC.gradient_blocks * 2,
            few_rows=AUTOMATIC.few_rows * 2,
            category_threads=AUTOMATIC.category_threads * 2,
            attribution_threads=AUTOMATIC.attribution_threads * 2,
            staged_bytes=AUTOMATIC.staged_bytes * 2,
            value_slots=AUTOMATIC.value_slots * 2,
            sort_threads=AUTOMATIC.sort_threads * 2,
            sort_rows=AUTOMATIC.sort_rows * 2,
        ),
        "no shared memory": replace(AUTOMATIC, direct_rows=2**31, few_rows=AUTOMATIC.few_rows * 8),
    }


def _check(name: str, compare: Callable[[], str]) -> Check:
    """Run a comparison that tells what differs. An error is a finding like any other."""
    try:
        difference = compare()
    except Exception as error:  # drivers, compilers and libraries have errors of many kinds
        difference = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return Check(name, not difference, difference or "equal")


# Histograms


def _golden_check(
    device: "Device", tunings: "Mapping[str, Tuning]", kind: str, size: Size
) -> Check:
    def compare() -> str:
        ways = [(name, "8-bit codes") for name in tunings] + [("usual", "16-bit codes")]
        for tuning_name, code_name in ways:
            most_codes = CODE_LIMITS[code_name]
            found = _histogram(device, tunings[tuning_name], kind, size.n_repeats, most_codes)
            difference = _sums_differ(found, golden.histogram(kind, size.n_repeats))
            if difference:
                return f"{difference} ({code_name}, block sizes: {tuning_name})"
        return ""

    return _check(f"histogram of {kind}", compare)


def _histogram(
    device: "Device", tuning: "Tuning", kind: str, n_repeats: int, most_codes: int
) -> HostArray:
    """What a device sums up, (bins, channels)."""
    from gputree.backends.cuda.backend import CudaBackend

    backend = CudaBackend(device, tuning)
    hist = backend.tally(golden.rows_at_root(backend, kind, n_repeats, most_codes), ROOT)
    return device.download(hist.sums).reshape(-1, hist.rows.target.channels.n)


def _sums_differ(found: HostArray, right: HostArray) -> str:
    wrong = np.argwhere(found != right)
    if not len(wrong):
        return ""
    at, channel = wrong[0].tolist()
    return (
        f"{len(wrong)} of {right.size} sums are wrong, the first in bin {at}, channel "
        f"{channel}: {found[at, channel]} instead of {right[at, channel]}"
    )


# Fits


@dataclass(frozen=True)
class Outcome:
    """A model, and where it sends rows it has not seen."""

    content: bytes
    n_nodes: int
    leaf: HostArray

    def differs_from(self, right: "Outcome") -> str:
        if self.content != right.content:
            return f"another model: {self.n_nodes} nodes, NumPy's has {right.n_nodes}"
        n_wrong = np.count_nonzero(self.leaf != right.leaf)
        return f"{n_wrong} of {len(right.leaf)} rows reach another leaf" if n_wrong else ""


def _fit_check(device: "Device", tuning: "Tuning", case: Case, size: Size) -> Check:
    from gputree.backends.cuda.backend import CudaBackend

    def compare() -> str:
        right = _fit(choose(backend="numpy").backend, case, size, None)
        budget = size.histogram_budget if case.is_short_of_memory else None
        return _fit(CudaBackend(device, tuning), case, size, budget).differs_from(right)

    return _check(f"fit of {case.name}", compare)


def _tuning_check(
    device: "Device", tunings: "Mapping[str, Tuning]", case: Case, size: Size
) -> Check:
    from gputree.backends.cuda.backend import CudaBackend

    def compare() -> str:
        right = _fit(choose(backend="numpy").backend, case, size, None)
        for name in ("half", "double"):
            found = _fit(CudaBackend(device, tunings[name]), case, size, None)
            if difference := found.differs_from(right):
                return f"{difference} (block sizes: {name})"
        return ""

    return _check(f"fit of {case.name}, other block sizes", compare)


def _fit(backend: Backend, case: Case, size: Size, histogram_budget: int | None) -> Outcome:
    """Cut, code, grow and walk by a backend that is open already."""
    X, y, weight = case.table(size)
    max_bins = case.params.get("max_bins", 255)
    data = Dataset(X, sample_weight=weight, max_bins=max_bins, backend="numpy")
    # No name stands for a tuning, so the backend takes the place of the one that was named.
    data.backend = backend
    data.bins, data.data = bin_table(backend, read_table(X), whole_weights(weight)[0], max_bins)
    # Batches of a level need a level of several nodes that are searched further.
    max_depth = size.max_depth + case.is_short_of_memory
    model = case.estimator(max_depth=max_depth, histogram_budget=histogram_budget).fit(data, y)
    leaf = backend.apply(model.nodes_, read_table(_unseen(X), like=model.schema_))
    return Outcome(model.to_bytes(), model.nodes_.n_nodes, leaf)


def _unseen(X: HostArray) -> HostArray:
    """Rows with values between and beyond those of X, and with missing ones in every column."""
    other = X[::-1] * np.float32(1.25)
    other[:: 1 + len(X) // 10] = np.nan
    return other


def _named_check(device: str, name: str, size: Size) -> Check:
    """What differs where a user asks for the device by its name."""
    make, case = NAMED[name]

    def compare() -> str:
        X, y, weight = case.table(size)
        models: Sequence[Any] = [
            make(max_depth=size.max_depth, **where).fit(X, y, sample_weight=weight)
            for where in ({"device": device, "backend": "cuda"}, {"backend": "numpy"})
        ]
        found, right = (Outcome(m.to_bytes(), _n_nodes(m), m.predict(_unseen(X))) for m in models)
        return found.differs_from(right)

    return _check(f"{name}, by its estimator", compare)


def _n_nodes(model: Any) -> int:
    trees = [model] if hasattr(model, "nodes_") else list(np.ravel(model.estimators_))
    return sum(tree.nodes_.n_nodes for tree in trees)
