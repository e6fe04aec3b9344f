"""Files of ensembles that no fit can have written are refused, and never reach a kernel."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

import gputree
from gputree.backends.registry import choose
from gputree.data.inputs import read_table
from gputree.errors import ModelFileError
from gputree.tree.stack import Stack
from tests.corpus.models import table
from tests.fuzz.edits import edited, packed, parts_of


def load(data, tmp_path):
    path = tmp_path / "model.gputree"
    path.write_bytes(data)
    return gputree.load(path)


@pytest.mark.parametrize(
    "name", ["boosting", "boosting_two", "boosting_numbers", "boosting_counts"]
)
@pytest.mark.parametrize("n", [2, 4000])
def test_a_boosted_tree_has_one_value_a_node(name, n, tmp_path):
    """With more, sums would be written outside of their array."""
    data = edited(f"{name}.gputree", [["repeat", "value", n, 1]])
    with pytest.raises(ModelFileError, match="another number of values"):
        load(data, tmp_path)


def test_a_boosted_tree_in_json_has_one_value_a_node():
    model = gputree.GradientBoostingRegressor(1, max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0])
    text = model.to_json()
    said = gputree.from_json(text)
    assert said.to_bytes() == model.to_bytes()
    content = json.loads(text)
    tree = content["trees"][0]
    tree["value"] = [row * 4000 for row in tree["value"]]
    with pytest.raises(ModelFileError, match="another number of values"):
        gputree.from_json(json.dumps(content))


def test_adaboost_of_numbers_has_one_output(tmp_path):
    data = edited("adaboost_numbers.gputree", [["repeat", "value", 2, 1]])
    with pytest.raises(ModelFileError, match="2 outputs"):
        load(data, tmp_path)


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([["item", "estimator_weights", at, 0.0] for at in range(3)], "has a positive weight"),
        ([["item", "estimator_errors", 0, 1.5]], "cannot be those of a fit"),
        ([["item", "estimator_weights", at, "1.7e308"] for at in range(3)], "cannot be those"),
        ([["item", "estimator_weights", 0, "nan"]], "does not fit the trees"),
    ],
)
def test_the_say_of_trees_is_that_of_a_fit(edits, message, tmp_path):
    with pytest.raises(ModelFileError, match=message):
        load(edited("adaboost.gputree", edits), tmp_path)


def test_one_class_of_boosting_is_the_answer_wherever_it_starts(tmp_path):
    """The start is that of log-odds, which nobody looks at."""
    one = gputree.DecisionTreeClassifier().fit([[0.0]], ["only"])
    header, arrays = copy.deepcopy(parts_of("boosting_two.gputree"))
    header["classes"] = gputree.estimators.model_file.describe(one)["classes"]
    model = load(packed((header, {**arrays, "start": np.ones(1)})), tmp_path)
    X = table(3, 0)
    assert model.predict(X).tolist() == ["only"] * 3
    assert model.predict_proba(X).tolist() == [[1.0]] * 3


@pytest.mark.parametrize("name", ["forest", "boosting", "adaboost"])
def test_only_bagging_has_columns_of_trees(name, tmp_path):
    header, arrays = parts_of(f"{name}.gputree")
    n = len(arrays["tree_nodes"])
    own = {"columns": np.tile(np.arange(5), n), "tree_columns": np.full(n, 5)}
    with pytest.raises(ModelFileError, match="columns of their own"):
        load(packed((header, {**arrays, **own})), tmp_path)


# At the door of the kernels.


@pytest.fixture(scope="module")
def grown():
    X = np.random.default_rng(0).normal(size=(80, 3))
    model = gputree.DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0] + X[:, 1] * X[:, 2])
    return model.nodes_, read_table(X)


BACKEND = choose(backend="numba").backend


@pytest.mark.parametrize(
    ("name", "node", "value", "message"),
    [
        ("first_child", 0, 2**30, "leads out of the tree"),
        ("first_child", 0, 0, "leads out of the tree"),
        ("first_child", -1, 3, "leads out of the tree"),
        ("n_children", 0, 60_000, "leads out of the tree"),
        ("missing_slot", 0, 7, "leads out of the tree"),
        ("feature", 0, 3, "tests column 3 of 3"),
        ("feature", 0, -5, "leads out of the tree"),
        ("category_start", 0, 0, "leads out of the lists"),
    ],
)
def test_kernels_are_not_given_a_tree_that_leads_outside(grown, name, node, value, message):
    tree, table = grown
    array = getattr(tree, name).copy()
    array[node] = value
    bad = replace(tree, **{name: array})
    stack = Stack.of([tree, bad])
    for call in (
        lambda: BACKEND.apply(bad, table),
        lambda: BACKEND.leaves_of(stack, table),
        lambda: BACKEND.sum_leaves(stack, table, np.zeros(1)),
        lambda: BACKEND.attribute(stack, table, np.arange(3), None),
        lambda: BACKEND.attribute(stack, table, np.arange(3), table),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_kernels_do_not_add_to_outputs_that_are_not_there(grown):
    tree, table = grown
    wide = Stack.of([tree], [np.ones((tree.n_nodes, 4000))])
    with pytest.raises(ValueError, match="there are 1 outputs"):
        BACKEND.sum_leaves(wide, table, np.zeros(1))
    with pytest.raises(ValueError, match="there are 1 outputs"):
        BACKEND.attribute(replace(wide, n_outputs=1), table, np.arange(3), None)
    short = replace(Stack.of([tree]), values=(np.ones((1, 1)),))
    with pytest.raises(ValueError, match="nodes of a tree"):
        BACKEND.sum_leaves(short, table, np.zeros(1))
