"""What the compiler makes of the kernels: no spills, native atomics, wide loads, few registers."""

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gputree
from gputree.backends.cuda.device import NumbaDevice
from gputree.data.target import class_target, value_target
from gputree.kernels.cuda.gpu import SIMULATED
from gputree.kernels.losses import HUBER, LOGISTIC, SOFTMAX, SQUARED
from tests.gpu.compiled import budget, facts, page, toolchain
from tests.gpu.compiled.cases import all_cases, boosting
from tests.gpu.compiled.occupancy import LIMITS, occupancy

ROOT = Path(__file__).parents[2]
CASES = all_cases()
SUMMING = [case.name for case in CASES if case.name.startswith("sum_tiles")]
SCORING = [
    case.name
    for case in CASES
    if case.body.__name__.endswith(
        ("_features", "rate_categories", "rate_branches", "attribute", "farthest", "_distances")
    )
]
BOOSTING = [case.name for case in boosting()]

every_architecture = pytest.mark.parametrize("architecture", toolchain.ARCHITECTURES)


@pytest.fixture(scope="session")
def found(tmp_path_factory):
    """Facts of every kernel, from a process of its own: in this one kernels may be simulated."""
    if toolchain.missing():
        pytest.skip(f"needs {' and '.join(toolchain.missing())}")
    out = tmp_path_factory.mktemp("compiled") / "facts.json"
    command = [sys.executable, "-W", "ignore", "-m", "tests.gpu.compiled", "--json", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())


@pytest.fixture
def compiled(found, architecture):
    """Facts by name of the case."""
    assert list(found) == [case.name for case in CASES]
    return {name: own[architecture] for name, own in found.items()}


@every_architecture
def test_nothing_is_kept_in_local_memory(compiled):
    kept = ("spilled", "stack", "uses local memory")
    assert not [name for name, own in compiled.items() if any(own[kind] for kind in kept)]


@every_architecture
def test_sums_in_shared_memory_are_native_atomics(compiled):
    for name in SUMMING:
        atomics = compiled[name]["atomics"]
        assert not compiled[name]["spins"]
        assert name.endswith(("ones", "classes")) or "ATOMS.ADD" in atomics
        assert {"ATOMS.POPC.INC.32", "ATOMS.ADD"}.intersection(atomics)


@every_architecture
def test_lanes_that_count_in_one_cell_share_an_instruction(compiled, architecture):
    """Turing has no such instruction; rows with gradients and hessians are not counted."""
    for name in SUMMING:
        counts = architecture != "sm_75" and not name.endswith("hessians")
        assert ("ATOMS.POPC.INC.32" in compiled[name]["atomics"]) == counts


@every_architecture
def test_nobody_waits_for_what_an_atomic_finds_in_a_histogram(compiled):
    """RED returns nothing; ATOM does."""
    for name in (name for name in compiled if name.startswith(("sum_tiles", "scatter_tiles"))):
        assert [each for each in compiled[name]["atomics"] if each.startswith("RED")]
        assert not [
            each for each in compiled[name]["atomics"] if each.startswith(("ATOM.", "ATOMG"))
        ]


@every_architecture
def test_totals_of_gradients_meet_in_global_memory(compiled):
    """A block hands on what it has found, once; sums of 64 bits in shared memory would spin."""
    for name in BOOSTING:
        assert not compiled[name]["spins"]
        assert all(each.startswith("RED") for each in compiled[name]["atomics"])


@every_architecture
def test_codes_of_a_wide_group_come_by_one_load(compiled):
    assert all(compiled[name]["loads 128 bits"] == ("wide" in name) for name in SUMMING)


@every_architecture
def test_no_multiplication_of_a_score_or_gradient_is_fused_with_an_addition(compiled):
    assert SCORING
    assert not [name for name in SCORING + BOOSTING if compiled[name]["fuses"]]


def test_registers_and_shared_memory_are_within_the_budget(found):
    assert not budget.over(budget.read(), found)


def test_the_budget_is_for_all_kernels_as_they_are_launched():
    sizes = [(name, own["threads"], own["dynamic shared"]) for name, own in budget.read().items()]
    assert sizes == [(case.name, case.threads, list(case.shared)) for case in CASES]


def test_registers_leave_room_for_half_the_threads_of_a_sum():
    for name in SUMMING:
        own = budget.read()[name]
        for architecture, registers in own["registers"].items():
            assert occupancy(architecture, own["threads"], registers, 0) >= 0.5


def test_the_table_in_the_documentation_is_that_of_the_budget():
    assert page.written() == page.table(budget.read())


def test_what_exceeds_the_budget_is_named():
    allowed = {"sum": {"registers": {"sm_80": 32}, "shared": {"sm_80": 0}}}
    taken = {"sum": {"sm_80": {"registers": 33, "shared": 0}}}
    assert budget.over(allowed, taken) == ["sum, sm_80: 33 registers, 32 allowed"]


def test_every_kernel_is_a_case():
    kernels = {
        function.name
        for path in (ROOT / "kernels" / "cuda").glob("*.py")
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        and any(isinstance(by, ast.Name) and by.id == "kernel" for by in function.decorator_list)
    }
    assert kernels == {case.body.__name__ for case in CASES}


@pytest.mark.skipif(not SIMULATED, reason="launches are noted in the simulator")
@pytest.mark.parametrize("boosts", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_the_backend_passes_the_types_that_are_compiled(
    on_device, boosted_on_device, example, weather, monkeypatch, boosts
):
    compiled, passed = {(case.body.__name__, case.types) for case in CASES}, set()
    launch = NumbaDevice.launch

    def note(device, kernel, blocks, threads, *args, **options):
        passed.add((kernel.fn.__name__, tuple(map(type_name, args))))
        launch(device, kernel, blocks, threads, *args, **options)

    monkeypatch.setattr(NumbaDevice, "launch", note)
    X, label, values, weight = example(40)
    on_device(X, class_target(label, 2, None), max_depth=2)
    on_device(X.astype(np.float64), class_target(label, 2, weight), max_depth=2, max_bins=300)
    on_device(X, value_target(values, None), max_depth=2)
    table, kind = weather(40)
    for tree in (gputree.C45Classifier, gputree.CARTClassifier):
        fitted = tree(max_depth=1, pruning=None, backend="cuda").fit(table, kind)
        fitted.predict(table)
        fitted.shap_values(table.iloc[:4])
    assert len(passed) > 20
    assert not passed - compiled
    if not boosts:
        return
    two, three = (kind > 2).astype(np.float64), np.minimum(kind // 2, 2.0)
    boosted_on_device(table, two, LOGISTIC, 1, row_share=0.6)
    boosted_on_device(table, two, replace(HUBER, constant=1.0), 1, weight=weight, min_rows_leaf=2)
    boosted_on_device(table, two, SQUARED, 1)
    boosted_on_device(table, three, SOFTMAX, 1, n_outputs=3)
    boosted_on_device(table, two, lambda raw: (raw - two, np.ones_like(raw)), 1)
    stopping = gputree.GradientBoostingClassifier(
        1, max_depth=1, early_stopping=True, backend="cuda"
    )
    stopping.fit(table, two, weight)
    stopping.fit(table, three, X_val=table, y_val=three)
    assert len(passed) > 35
    assert {case.body.__name__ for case in boosting()} <= {name for name, _ in passed}
    assert not passed - compiled


def type_name(value):
    """The type of an argument as `Case.types` has it."""
    if hasattr(value, "dtype") and np.ndim(value):
        return f"{np.dtype(value.dtype).str[1:]}[]"
    return np.asarray(value).dtype.str[1:]


def test_what_ptxas_says_is_read():
    log = """ptxas info    : Compiling entry function 'one' for 'sm_80'
ptxas info    : Function properties for one
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 8 bytes cumulative stack size, 512 bytes smem
ptxas info    : Compiling entry function 'two' for 'sm_80'
ptxas info    : Function properties for two
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 16 registers, used 0 barriers, 400 bytes cmem[0]
"""
    assert facts.read_log(log) == {
        "one": {"registers": 40, "shared": 512, "spilled": 16, "stack": 8},
        "two": {"registers": 16, "shared": 0, "spilled": 0, "stack": 0},
    }


def test_instructions_are_found():
    code = """
        /*0000*/ LDG.E.128.CONSTANT R4, [R2.64] ;
        /*0010*/ ATOMS.POPC.INC.32 RZ, [R18+URZ] ;
        /*0020*/ ATOMS.CAST.SPIN.64 P0, [R4], R6, R8 ;
        /*0030*/ STL [R1], R2 ;
"""
    assert facts.read_code(code) == {
        "atomics": ["ATOMS.CAST.SPIN.64", "ATOMS.POPC.INC.32"],
        "loads 128 bits": True,
        "spins": True,
        "uses local memory": True,
    }


@pytest.mark.parametrize(
    ("architecture", "threads", "registers", "shared", "share"),
    [
        ("sm_75", 512, 64, 32 * 1024, 1.0),  # two blocks fill both
        ("sm_75", 512, 65, 0, 0.5),  # one register too many
        ("sm_80", 512, 32, 32 * 1024, 1.0),
        ("sm_80", 512, 33, 32 * 1024, 0.75),  # registers come in units of 8 a thread
        ("sm_80", 512, 32, 48 * 1024, 0.75),  # 164 KB hold three times 48 KB and what is reserved
        ("sm_89", 256, 16, 0, 1.0),
        ("sm_90", 32, 16, 0, 0.5),  # 32 blocks of one warp
    ],
)
def test_occupancy_is_bound_by_what_is_scarce(architecture, threads, registers, shared, share):
    assert occupancy(architecture, threads, registers, shared) == share


def test_limits_are_known_for_every_architecture():
    assert list(LIMITS) == list(toolchain.ARCHITECTURES)
