"""Who may import whom. The architecture is kept here, not in anyone's memory."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = ["gputree", *parts] if parts[0] == "kernels" else list(parts)
    return ".".join(package).removesuffix(".__init__")


MODULES = {
    module_name(path): path
    for folder in ("gputree", "kernels")
    for path in sorted((ROOT / folder).rglob("*.py"))
}


@cache
def tree_of(name):
    return ast.parse(MODULES[name].read_text())


# Where a module of this prefix may take things of gputree from; itself and below always.
FOUNDATION = {
    *("gputree.dtypes", "gputree.errors", "gputree.arrays", "gputree.runs", "gputree.turns"),
    *("gputree.comm", "gputree.shares"),
}
BOOSTED = {
    *FOUNDATION,
    *("gputree.backends.contract", "gputree.backends.lots", "gputree.backends.residuals"),
    *("gputree.backends.watched", "gputree.boosting", "gputree.data", "gputree.growth"),
    *("gputree.ensembles", "gputree.estimators", "gputree.formulas", "gputree.prediction"),
    *("gputree.export.plan", "gputree.fit", "gputree.progress", "gputree.sampling"),
    *("gputree.kernels.losses", "gputree.tree"),
}
MAY_IMPORT = {
    "gputree.kernels": set(),
    "gputree.tree": FOUNDATION,
    "gputree.export": {*FOUNDATION, "gputree.data", "gputree.tree", "gputree.kernels.exponential"},
    # What a file holds is known there; it is asked for when a text is read.
    "gputree.export.json_text": {
        *FOUNDATION,
        *("gputree.data", "gputree.tree", "gputree.estimators.model_file"),
    },
    "gputree.pruning": {*FOUNDATION, "gputree.tree", "gputree.formulas"},
    "gputree.data": {
        *FOUNDATION,
        "gputree.kernels.buckets",
        "gputree.kernels.widths",
        "gputree.files",
    },
    "gputree.data.stream_codes": {*FOUNDATION, "gputree.data", "gputree.files", "gputree.progress"},
    "gputree.fit": {
        *FOUNDATION,
        *("gputree.backends.registry", "gputree.backends.timed", "gputree.data", "gputree.files"),
        "gputree.backends.aside",
    },
    "gputree.backends": {
        *FOUNDATION,
        *("gputree.data", "gputree.tree.tree", "gputree.tree.stack", "gputree.tree.walk"),
        "gputree.tree.categories",
        *("gputree.kernels", "gputree.formulas", "gputree.nodes", "gputree.sampling"),
    },
    "gputree.growth": {
        *FOUNDATION,
        *("gputree.backends.contract", "gputree.backends.candidates", "gputree.backends.seen"),
        "gputree.backends.whole",
        *("gputree.data", "gputree.tree", "gputree.nodes", "gputree.sampling"),
        *("gputree.formulas", "gputree.kernels.criteria"),
    },
    "gputree.explain": {
        *FOUNDATION,
        *("gputree.backends", "gputree.data", "gputree.prediction", "gputree.tree"),
    },
    "gputree.prediction": {
        *FOUNDATION,
        *("gputree.backends.contract", "gputree.data.table", "gputree.tree"),
        "gputree.kernels.losses",
    },
    "gputree.ensembles": {
        *FOUNDATION,
        *("gputree.data", "gputree.fit", "gputree.tree", "gputree.pruning", "gputree.estimators"),
        *("gputree.sampling", "gputree.progress", "gputree.prediction", "gputree.export.plan"),
        *("gputree.backends.samples", "gputree.kernels.criteria"),
    },
    "gputree.kinds": {"gputree.boosting", "gputree.ensembles", "gputree.estimators"},
    "gputree.boosting": {
        *FOUNDATION,
        *("gputree.backends.contract", "gputree.backends.whole", "gputree.data"),
        *("gputree.backends.lots", "gputree.backends.residuals", "gputree.backends.watched"),
        *("gputree.growth", "gputree.tree", "gputree.formulas", "gputree.kernels.criteria"),
        *("gputree.fit", "gputree.kernels.losses", "gputree.sampling", "gputree.progress"),
    },
    "gputree.boosting.model": BOOSTED,
    "gputree.boosting.recipe": BOOSTED,
    "gputree.boosting.run": BOOSTED,
    "gputree.boosting.gradient": BOOSTED,
    "gputree.boosting.gradient_regressor": BOOSTED,
    "gputree.boosting.stopping": BOOSTED,
    "gputree.plots": {
        *FOUNDATION,
        *("gputree.data", "gputree.tree", "gputree.pruning", "gputree.estimators"),
        *("gputree.ensembles", "gputree.boosting", "gputree.rules"),
    },
    "gputree.progress": set(),
    "gputree.report": {
        *FOUNDATION,
        *("gputree.data", "gputree.tree", "gputree.pruning", "gputree.estimators"),
        "gputree.ensembles",
        "gputree.fit.report",
        "gputree.prediction",
    },
    "gputree.files": {"gputree.dtypes", "gputree.errors"},
    "gputree.rules": {*FOUNDATION, "gputree.data", "gputree.tree", "gputree.pruning.confidence"},
    "gputree.estimators": {
        *FOUNDATION,
        *("gputree.backends.contract", "gputree.backends.registry", "gputree.backends.timed"),
        *("gputree.data", "gputree.explain", "gputree.export", "gputree.fit", "gputree.growth"),
        *("gputree.kernels.criteria", "gputree.prediction", "gputree.pruning", "gputree.rules"),
        *("gputree.sampling", "gputree.tree", "gputree.user_score"),
        # What models are shown by, and what kinds of them there are, is asked for when needed.
        *("gputree.kinds", "gputree.plots", "gputree.report"),
        "gputree.cluster.collections",  # as is who takes tables of Dask
    },
    "gputree.cluster": {
        *FOUNDATION,
        "gputree.progress",
        *(
            "gputree.backends",
            "gputree.data",
            "gputree.estimators",
            "gputree.files",
            "gputree.fit",
            "gputree.kernels",
        ),
        *("gputree.boosting", "gputree.ensembles", "gputree.pruning.methods", "gputree.tree"),
    },
    "gputree.cli": {
        *FOUNDATION,
        "gputree.cluster",
        *("gputree.diagnostics", "gputree.ensembles", "gputree.estimators", "gputree.export"),
        *("gputree.files", "gputree.fit", "gputree.progress", "gputree.pruning", "gputree.report"),
        *("gputree.backends.aside", "gputree.tree"),
    },
    "gputree.diagnostics": {
        *FOUNDATION,
        *("gputree.backends", "gputree.boosting", "gputree.data", "gputree.ensembles"),
        *("gputree.estimators", "gputree.files", "gputree.fit", "gputree.kernels.criteria"),
        *("gputree.kernels.cpu.grow", "gputree.kernels.cuda.gpu", "gputree.progress"),
    },
}
# Which modules may know a library that is not always there, or not on every device.
MAY_KNOW = {
    "cupy": {
        "gputree.cluster.nccl",
        *("gputree.backends.array.libraries", "gputree.backends.cuda.cupy_device"),
        "gputree.backends.cuda.functions",
    },
    "cupyx": {"gputree.backends.array.libraries"},
    "torch": {"gputree.backends.array.libraries"},
    "numba": {"gputree.kernels"},
    "array_api_compat": {
        *("gputree.arrays", "gputree.backends.array.libraries"),
        *("gputree.data.inputs", "gputree.estimators.base"),
    },
    "array_api_strict": set(),
    "matplotlib": {"gputree.plots.axes"},
    "onnx": {"gputree.export.onnx_model"},
    "treelite": {"gputree.export.treelite_model"},
    "pandas": set(),
    "polars": set(),
    "pyarrow": {"gputree.cli", "gputree.files"},
    "click": {"gputree.cli"},
    "dask": {"gputree.cluster.dask", "gputree.cluster.collections"},
    "distributed": {"gputree.cluster.dask", "gputree.cluster.collections"},
    "mpi4py": {"gputree.cluster.mpi"},
}


class Imports(ast.NodeVisitor):
    """The names that a module imports, apart from those only a type checker reads."""

    def __init__(self, also_in_functions):
        self.names = set()
        self.also_in_functions = also_in_functions

    def visit_Import(self, node):
        self.names.update(alias.name for alias in node.names)

    def visit_ImportFrom(self, node):
        assert node.level == 0, "relative import"
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            is_module = whole in MODULES or node.module == "numba"
            self.names.add(whole if is_module else node.module)

    def visit_If(self, node):
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for part in node.orelse if is_for_types else ast.iter_child_nodes(node):
            self.visit(part)

    def visit_FunctionDef(self, node):
        if self.also_in_functions:
            self.generic_visit(node)


@cache
def imported(name, *, also_in_functions=True):
    found = Imports(also_in_functions)
    found.visit(tree_of(name))
    return found.names


def is_within(name, places):
    return any(name == place or name.startswith(f"{place}.") for place in places)


def rule_for(name):
    """The longest prefix with a rule, None where anything goes."""
    return max((place for place in MAY_IMPORT if is_within(name, [place])), key=len, default=None)


def test_modules_import_only_what_lies_below_them():
    above = {name: above_of(name) for name in MODULES if rule_for(name)}
    assert not {name: found for name, found in above.items() if found}


def above_of(name):
    """What a module imports against the rule of its place."""
    place = rule_for(name)
    ours = {each for each in imported(name) if each.split(".")[0] == "gputree"}
    if place in ("gputree.cli", "gputree.diagnostics"):  # whose models are those of users
        ours.discard("gputree")
    return {each for each in ours if not is_within(each, {place, *MAY_IMPORT[place]})}


@pytest.mark.parametrize("library", MAY_KNOW)
def test_a_library_is_known_in_few_places(library):
    knowing = {
        name
        for name in MODULES
        if any(each.split(".")[0] == library for each in imported(name))
        and not is_within(name, MAY_KNOW[library])
    }
    assert not knowing


@pytest.mark.parametrize("name", [name for name in MODULES if is_within(name, ["gputree.kernels"])])
def test_kernels_need_nothing_but_numba_and_one_another(name):
    allowed = {"numba", "math", "types", "gputree.kernels"}
    if name.count(".") > 2:  # compiled for one device, with NumPy's dtypes; formulas are for all
        allowed.add("numpy")
    if name in ("gputree.kernels.criteria", "gputree.kernels.losses"):  # which say what one is
        allowed |= {"collections.abc", "dataclasses", "typing"}
    if name == "gputree.kernels.cpu.jit":
        allowed |= {"contextlib", "time", "warnings"}  # it keeps the time of compiling
    if name == "gputree.kernels.undisturbed":  # the threads that numba compiles in
        allowed |= {"_thread", "atexit", "contextlib", "functools", "os", "queue", "threading"}
    if name == "gputree.kernels.cpu.memory":
        allowed.add("llvmlite")  # memory that is asked for ahead
    if name == "gputree.kernels.cpu.user_score":
        allowed |= {"llvmlite", "functools"}  # calls by address
    if name == "gputree.kernels.cuda.gpu":
        allowed |= {"llvmlite", "sys", "threading"}  # wide loads; the threads of the simulator
    if name == "gputree.kernels.cuda.machine_code":  # the assembler, and who may compile
        allowed |= {"cuda.bindings", "contextlib", "importlib.metadata", "re", "threading"}
    assert not {each for each in imported(name) if not is_within(each, allowed)}


def test_only_the_kernels_and_the_backend_for_cuda_know_numba_cuda():
    places = ["gputree.kernels.cuda", "gputree.backends.cuda.backend"]
    knowing = {
        name for name in MODULES if any(is_within(each, ["numba.cuda"]) for each in imported(name))
    }
    assert not {name for name in knowing if not is_within(name, places)}


def test_nothing_knows_the_command_line_but_its_entrance():
    knowing = {
        name for name in MODULES if any(is_within(each, ["gputree.cli"]) for each in imported(name))
    }
    assert not {name for name in knowing if not is_within(name, ["gputree.cli"])} - {
        "gputree.__main__"
    }


def test_modules_do_not_go_round_in_circles():
    """Imports inside a function are allowed to point up: that is what they are for."""
    graph = {
        name: {each for each in imported(name, also_in_functions=False) if each in MODULES}
        for name in MODULES
    }
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)


def folder(name):
    """The first folder within the library that a module is in; itself, where it is in none."""
    return ".".join(name.split(".")[:2])


def test_folders_do_not_go_round_in_circles():
    graph = {}
    for name in set(MODULES) - {"gputree"}:
        others = {each for each in imported(name, also_in_functions=False) if each in MODULES}
        graph.setdefault(folder(name), set()).update(map(folder, others - {"gputree"}))
    for name, others in graph.items():
        others.discard(name)
    assert len(list(TopologicalSorter(graph).static_order())) == len(graph)


def test_every_module_says_what_it_holds():
    assert not [name for name in MODULES if not ast.get_docstring(tree_of(name))]


def test_every_folder_of_the_library_is_a_package():
    for top in ("gputree", "kernels"):
        for path in (ROOT / top).rglob("*.py"):
            assert (path.parent / "__init__.py").exists(), path


def test_the_rules_are_about_modules_that_exist():
    """A rule for a module that was renamed would keep nothing."""
    named = {*MAY_IMPORT, *set().union(*MAY_IMPORT.values(), *MAY_KNOW.values())}
    assert named <= set(MODULES)
