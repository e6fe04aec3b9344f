"""What a user reads is complete, and its examples run."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import gputree
from gputree import pruning
from gputree.backends.registry import BACKENDS

PUBLIC = {name: getattr(gputree, name) for name in gputree.__all__}
ERRORS = {
    name: each
    for name, each in PUBLIC.items()
    if inspect.isclass(each) and issubclass(each, BaseException)
}
METHODS = {name: getattr(pruning, name) for name in pruning.__all__}
METHODS = {
    name: each
    for name, each in METHODS.items()
    if issubclass(each, pruning.Method) and each is not pruning.Method
}
EXPLAINED = {name: each for name, each in PUBLIC.items() if name not in ERRORS} | METHODS
ESTIMATORS = {name: each for name, each in PUBLIC.items() if hasattr(each, "get_params")}
MODULES = [
    module.name
    for module in pkgutil.walk_packages(gputree.__path__, "gputree.")
    if not module.name.endswith("__main__")
]
# Some modules need a package that is not there.
WITH_EXAMPLES = [name for name in MODULES if ">>> " in Path(find_spec(name).origin).read_text()]
ROOT = Path(__file__).parents[1]
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
]
HANDED_ON = {  # functions, and the methods that do their work
    "export_text": gputree.DecisionTreeClassifier.export_text,
    "export_graphviz": gputree.DecisionTreeClassifier.export_graphviz,
    "plot_tree": gputree.DecisionTreeClassifier.plot,
}
# A session (`>>>`) is compared with what it prints; other examples have to run.
FENCE = re.compile(r"^```(python|pycon)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NEEDS = re.compile(r"<!-- needs: (\w+) -->")  # a page
WITH = re.compile(r"<!-- with: (\w+) -->\n$")  # the block that follows


def section(doc, title):
    """One section of a numpydoc text."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, re.DOTALL | re.MULTILINE)
    return found.group(1) if found else ""


def entries(text):
    """The names that a section of parameters or attributes explains."""
    text = text.replace("\\\n", "")
    lines = [line for line in text.splitlines() if line and not line[0].isspace()]
    return {name.strip() for line in lines for name in line.split(" : ")[0].split(",")}


def public_methods(each):
    return {
        name: method
        for name, method in inspect.getmembers(each)
        if not name.startswith("_")
        and callable(method)
        and getattr(method, "__module__", "").startswith("gputree")
    }


@pytest.mark.parametrize("name", EXPLAINED)
def test_a_public_name_is_explained_with_examples(name):
    doc = inspect.getdoc(EXPLAINED[name])
    assert ">>> " in section(doc, "Examples")
    assert len(doc.splitlines()[0]) < 90


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_says_what_it_means(name):
    assert inspect.getdoc(ERRORS[name]) != inspect.getdoc(ERRORS[name].__mro__[1])
    assert inspect.getdoc(ERRORS[name]).endswith(".")


@pytest.mark.parametrize("name", EXPLAINED)
def test_every_parameter_is_explained_or_referred_to(name):
    parameters = set(inspect.signature(EXPLAINED[name]).parameters) - {"self"}
    if name in HANDED_ON:  # `**options` are those of a method
        method = inspect.signature(HANDED_ON[name]).parameters
        parameters = (parameters - {"options"}) | {"**options"} | (set(method) - {"self"})
    assert parameters == entries(section(inspect.getdoc(EXPLAINED[name]), "Parameters"))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_fitted_attribute_is_explained(name):
    only_categories = {"categorical_features": [0]} if name == "ID3Classifier" else {}
    model = ESTIMATORS[name](**only_categories).fit([[0], [1]], [0, 1])
    fitted = {each for each in vars(model) if each.endswith("_") and not each.startswith("_")}
    explained = entries(section(inspect.getdoc(ESTIMATORS[name]), "Attributes"))
    assert fitted - {"schema_"} <= explained
    there = {*dir(model), *dir(type(model))}  # some properties only with other parameters
    assert explained - {"feature_names_in_"} <= {each for each in there if each[-1] == "_"}


@pytest.mark.parametrize("name", EXPLAINED)
def test_every_public_method_is_explained(name):
    for method_name, method in public_methods(EXPLAINED[name]).items():
        assert inspect.getdoc(method), method_name


def test_the_defaults_in_the_text_are_those_of_the_signature():
    for each in ESTIMATORS.values():
        text = section(inspect.getdoc(each), "Parameters")
        for name, default in re.findall(r"^(\w+) : .*default=(.+)$", text, re.MULTILINE):
            assert ast.literal_eval(default) == inspect.signature(each).parameters[name].default


def test_every_choice_of_a_parameter_is_named():
    for each in ESTIMATORS.values():
        if "criterion" not in inspect.signature(each).parameters:
            continue  # the method has its own
        (line,) = re.findall(r"^criterion : .*$", inspect.getdoc(each), re.MULTILINE)
        assert all(repr(criterion) in line for criterion in each.CRITERIA)
    (line,) = re.findall(
        r"^backend : .*$", inspect.getdoc(gputree.DecisionTreeClassifier), re.MULTILINE
    )
    text = section(inspect.getdoc(gputree.DecisionTreeClassifier), "Parameters")
    (told,) = re.findall(r"^pruning : .*\n((?: .*\n)+)", text, re.MULTILINE)
    assert all(repr(each.name) in told for each in METHODS.values())
    for backend in set(BACKENDS) - {"array_api_strict"}:  # which is for tests
        assert repr(backend) in line


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_run(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


def test_there_are_examples_to_run():
    assert {"gputree.fit.dataset", "gputree.estimators.trees"} <= set(WITH_EXAMPLES)


# Pages


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder to write files to, and pictures that nobody has to look at."""
    plt = pytest.importorskip("matplotlib.pyplot")
    before = plt.get_backend()
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")
    plt.switch_backend(before)


def run(code, names, page, line):
    """Run one example with the names that those before it have left."""
    exec(compile("\n" * line + code, page, "exec"), names)


def compare(session, names, page, line):
    """Run a session; what differs from it is in the captured output."""
    test = doctest.DocTestParser().get_doctest(session, names, page, page, line)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    found = runner.run(test, clear_globs=False)
    names.update(test.globs)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_one_after_another(page, elsewhere):
    text = (ROOT / page).read_text(encoding="utf-8")
    for package in NEEDS.findall(text):
        pytest.importorskip(package)
    names = {"__name__": "__main__"}
    for found in FENCE.finditer(text):
        needed = WITH.search(text[: found.start()])
        if needed and find_spec(needed[1]) is None:
            continue
        check = run if found[1] == "python" else compare
        check(found[2], names, page, text[: found.start()].count("\n") + 1)


@pytest.mark.parametrize("page", PAGES)
def test_every_example_of_a_page_is_found(page):
    """A fence that is indented, or begins in another way, would be passed over."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(re.findall(r"^\s*(?:```|~~~)\s*py", text, re.MULTILINE)) == len(FENCE.findall(text))
    assert not re.search(r"^\s*```\s*$\n\s*>>> ", text, re.MULTILINE)


def test_a_wrong_number_on_a_page_is_noticed():
    with pytest.raises(AssertionError):
        compare(">>> 1 + 1\n3\n", {}, "page", 0)


def test_there_are_pages_with_examples():
    with_examples = [page for page in PAGES if FENCE.search((ROOT / page).read_text("utf-8"))]
    assert {"README.md", "docs/quickstart.md", "docs/howto/ci.md"} <= set(with_examples)
