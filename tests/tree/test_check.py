"""Each rule by which arrays are a tree, broken alone."""

from dataclasses import fields

import numpy as np
import pytest

from gputree.errors import ModelFileError
from gputree.tree.check import check_tree
from gputree.tree.tree import Tree

NAN = np.nan
INF = np.inf


def arrays():
    """Node 0 splits into 1 and 2, node 2 into 3 and 4."""
    return {
        "kind": [1, 0, 1, 0, 0],
        "feature": [0, -1, 1, -1, -1],
        "threshold": [0.5, NAN, -1.0, NAN, NAN],
        "missing_slot": [0, 0, 1, 0, 0],
        "first_child": [1, -1, 3, -1, -1],
        "gain": [0.1, 0.0, 0.2, 0.0, 0.0],
        "impurity": [0.5, 0.0, 0.4, 0.0, 0.0],
        "n_rows": [4, 1, 3, 2, 1],
        "weight": [4.0, 1.0, 3.0, 2.0, 1.0],
        "value": [[1.0, 3.0], [1.0, 0.0], [0.0, 3.0], [0.0, 2.0], [0.0, 1.0]],
    }


def tree(**changed):
    return Tree(**{**arrays(), **changed})


def with_node(name, node, entry):
    changed = np.array(arrays()[name])
    changed[node] = entry
    return tree(**{name: changed})


def only(*nodes, **changed):
    """The arrays of some nodes, as they are."""
    return Tree(**{**{name: np.array(a)[list(nodes)] for name, a in arrays().items()}, **changed})


def test_a_tree_passes():
    check_tree(tree(), n_features=2)


def test_a_single_leaf_passes():
    check_tree(only(1), n_features=1)
    check_tree(only(1), n_features=0)


def test_infinite_thresholds_and_weightless_nodes_pass():
    check_tree(with_node("threshold", 0, INF), n_features=2)
    check_tree(with_node("weight", 1, 0.0), n_features=2)


def test_a_million_nodes_pass():
    n_inner = 500_000
    n_nodes = 2 * n_inner + 1
    inner = np.arange(n_nodes) < n_inner
    check_tree(
        Tree(
            kind=inner,
            feature=np.where(inner, 0, -1),
            threshold=np.where(inner, 0.0, NAN),
            missing_slot=np.zeros(n_nodes),
            first_child=np.where(inner, 2 * np.arange(n_nodes) + 1, -1),
            gain=np.zeros(n_nodes),
            impurity=np.zeros(n_nodes),
            n_rows=np.ones(n_nodes),
            weight=np.ones(n_nodes),
            value=np.ones((n_nodes, 1)),
        ),
        n_features=1,
    )


@pytest.mark.parametrize("name", [field.name for field in fields(Tree)])
def test_arrays_of_different_length_are_refused(name):
    with pytest.raises(ModelFileError, match="differ in length"):
        check_tree(tree(**{name: np.array(arrays()[name])[:-1]}), n_features=2)


@pytest.mark.parametrize("name", [field.name for field in fields(Tree)])
@pytest.mark.parametrize("as_wrong", [lambda a: a[..., None], lambda a: a.ravel()[0]])
def test_arrays_of_other_dimensions_are_refused(name, as_wrong):
    with pytest.raises(ModelFileError, match=f"array '{name}' has . dimensions"):
        check_tree(tree(**{name: as_wrong(np.array(arrays()[name]))}), n_features=2)


def test_a_flat_value_is_refused():
    with pytest.raises(ModelFileError, match="array 'value' has 1 dimensions"):
        check_tree(tree(value=np.zeros(5)), n_features=2)


def test_a_value_without_columns_is_refused():
    with pytest.raises(ModelFileError, match="have no value"):
        check_tree(tree(value=np.zeros((5, 0))), n_features=2)


def test_a_tree_without_nodes_is_refused():
    with pytest.raises(ModelFileError, match="has no nodes"):
        check_tree(only(), n_features=2)


@pytest.mark.parametrize(
    ("name", "node", "entry", "message"),
    [
        ("kind", 0, 2, "node 0 .* unknown kind"),
        ("kind", 4, 255, "node 4 .* unknown kind"),
        ("feature", 1, 0, "node 1 .* is a leaf and tests a feature"),
        ("feature", 1, -2, "node 1 .* is a leaf and tests a feature"),
        ("first_child", 3, 5, "node 3 .* is a leaf and has children"),
        ("first_child", 3, 0, "node 3 .* is a leaf and has children"),
        ("feature", 2, 2, r"node 2 .* feature outside 0\.\.1"),
        ("feature", 2, -1, r"node 2 .* feature outside 0\.\.1"),
        ("threshold", 2, NAN, "node 2 .* no threshold"),
        ("missing_slot", 0, 2, "node 0 .* missing values"),
        ("missing_slot", 1, 255, "node 1 .* missing values"),
        ("first_child", 2, 2, "node 2 .* not numbered breadth-first"),
        ("first_child", 2, 1, "node 2 .* not numbered breadth-first"),
        ("first_child", 2, 4, "node 2 .* not numbered breadth-first"),
        ("first_child", 2, 2**31 - 1, "node 2 .* not numbered breadth-first"),
        ("first_child", 0, 0, "node 0 .* not numbered breadth-first"),
        ("first_child", 0, -1, "node 0 .* not numbered breadth-first"),
        ("gain", 0, NAN, "node 0 .* gain that is not finite"),
        ("gain", 1, INF, "node 1 .* gain that is not finite"),
        ("impurity", 2, NAN, "node 2 .* impurity that is not finite"),
        ("impurity", 2, -INF, "node 2 .* impurity that is not finite"),
        ("weight", 4, INF, "node 4 .* weight that is not finite"),
        ("weight", 4, NAN, "node 4 .* weight that is not finite"),
        ("value", (3, 1), NAN, "node 3 .* value that is not finite"),
        ("value", (3, 0), INF, "node 3 .* value that is not finite"),
        ("weight", 3, -1.0, "node 3 .* negative weight"),
        ("n_rows", 3, -1, "node 3 .* negative number of rows"),
    ],
)
def test_a_node_that_breaks_a_rule_is_named(name, node, entry, message):
    with pytest.raises(ModelFileError, match=message):
        check_tree(with_node(name, node, entry), n_features=2)


def test_features_beyond_the_table_are_refused():
    with pytest.raises(ModelFileError, match=r"node 2 .* outside 0\.\.0"):
        check_tree(tree(), n_features=1)


def test_missing_and_surplus_nodes_are_refused():
    for nodes in [(0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4, 4), (1, 1, 1), (0,)]:
        with pytest.raises(ModelFileError, match=f"a tree has {len(nodes)} nodes"):
            check_tree(only(*nodes), n_features=2)


def test_children_numbered_in_another_order_are_refused():
    with pytest.raises(ModelFileError, match="not numbered breadth-first"):
        check_tree(only(0, 2, 2, 1, 1, 1, 1, first_child=[1, 5, 3, -1, -1, -1, -1]), n_features=2)


def test_a_node_that_is_its_own_child_is_refused():
    with pytest.raises(ModelFileError, match=r"node 1 .* numbered after its own children"):
        check_tree(only(1, 0, 1, first_child=[-1, 1, -1]), n_features=2)


def test_two_nodes_that_lead_to_each_other_are_refused():
    loop = only(0, 1, 1, 1, 0, first_child=[1, -1, -1, -1, 3])
    with pytest.raises(ModelFileError, match=r"node 4 .* numbered after its own children"):
        check_tree(loop, n_features=2)
