"""Each rule by which arrays are a tree, broken alone."""

import numpy as np
import pytest

from gputree.dtypes import STAY
from gputree.errors import ModelFileError
from gputree.tree.check import check_tree
from gputree.tree.tree import Tree
from tests.tables import with_lists

NAN = np.nan
INF = np.inf


BOTH = [None, None]  # the categories of two features with thresholds
MIXED = [None, 3]  # ... and of two of which the second has categories


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
        "n_children": [2, 0, 2, 0, 0],
        "category_start": [-1] * 5,
        "n_surrogates": [0] * 5,
        "category": [],
        "category_slot": [],
        "surrogate_feature": [],
        "surrogate_threshold": [],
        "surrogate_slot": [],
        "surrogate_category_start": [],
        "surrogate_agreement": [],
    }


def many():
    """Lists of three categories at nodes 0 (three children) and 2 (two, and two surrogates).

    category       3 1 2 3 | 3 1 2 3 | 3 0 2 3 (of the surrogate that tests categories)
    category_slot  0 2 1 1 | 0 S 1 0 | 0 1 S S
    """
    arrays = {
        "kind": [3, 0, 2, 0, 0, 0],
        "feature": [1, -1, 1, -1, -1, -1],
        "threshold": [NAN] * 6,
        "missing_slot": [2, 0, STAY, 0, 0, 0],
        "first_child": [1, -1, 4, -1, -1, -1],
        "gain": [0.1, 0.0, 0.2, 0.0, 0.0, 0.0],
        "impurity": [0.5, 0.0, 0.4, 0.0, 0.0, 0.0],
        "n_rows": [4, 1, 3, 0, 2, 1],
        "weight": [4.0, 1.0, 3.0, 0.0, 2.0, 1.0],
        "value": [[1.0, 3.0], [1.0, 0.0], [0.0, 3.0], [1.0, 3.0], [0.0, 2.0], [0.0, 1.0]],
        "n_children": [3, 0, 2, 0, 0, 0],
        "level_start": [0, -1, 4, -1, -1, -1],
        "n_surrogates": [0, 0, 2, 0, 0, 0],
        "level_slot": [0, 2, 1, 1, 0, STAY, 1, 0, 1, 0, STAY, STAY],
        "surrogate_feature": [0, 1],
        "surrogate_threshold": [1.5, NAN],
        "surrogate_slot": [1, 0],
        "surrogate_level_start": [-1, 8],
        "surrogate_agreement": [0.75, 1.0],
    }
    return with_lists(arrays)


def tree(**changed):
    return Tree(**{**arrays(), **changed})


def with_node(name, node, entry, given=arrays):
    changed = np.array(given()[name], Tree.DTYPES[name])
    changed[node] = entry
    return Tree(**{**given(), name: changed})


def only(*nodes, **changed):
    """The arrays of some nodes, as they are."""
    own = {n: np.array(a)[list(nodes)] for n, a in arrays().items() if n not in Tree.OTHERS}
    return Tree(**{**own, **changed})


def test_a_tree_passes():
    check_tree(tree(), BOTH)
    check_tree(Tree(**many()), MIXED)


def test_a_single_leaf_passes():
    check_tree(only(1), [None])
    check_tree(only(1), [])


def test_infinite_thresholds_and_empty_leaves_pass():
    check_tree(with_node("threshold", 0, INF), BOTH)
    check_tree(with_node("surrogate_threshold", 0, -INF, many), MIXED)
    check_tree(with_node("weight", 1, 0.0), BOTH)


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
        n_categories=[None],
    )


@pytest.mark.parametrize("name", [name for name in Tree.DTYPES if not name.startswith("category")])
def test_arrays_of_different_length_are_refused(name):
    with pytest.raises(ModelFileError, match="differ in length"):
        check_tree(Tree(**{**many(), name: np.array(many()[name])[:-1]}), MIXED)


@pytest.mark.parametrize("name", list(Tree.DTYPES))
@pytest.mark.parametrize("as_wrong", [lambda a: a[..., None], lambda a: a.ravel()[0]])
def test_arrays_of_other_dimensions_are_refused(name, as_wrong):
    with pytest.raises(ModelFileError, match=f"array '{name}' has . dimensions"):
        check_tree(Tree(**{**many(), name: as_wrong(np.array(many()[name]))}), MIXED)


def test_a_flat_value_is_refused():
    with pytest.raises(ModelFileError, match="array 'value' has 1 dimensions"):
        check_tree(tree(value=np.zeros(5)), BOTH)


def test_a_value_without_columns_is_refused():
    with pytest.raises(ModelFileError, match="have no value"):
        check_tree(tree(value=np.zeros((5, 0))), BOTH)


def test_a_tree_without_nodes_is_refused():
    with pytest.raises(ModelFileError, match="has no nodes"):
        check_tree(only(), BOTH)


@pytest.mark.parametrize(
    ("name", "node", "entry", "message"),
    [
        ("kind", 0, 4, "node 0 .* unknown kind"),
        ("kind", 0, 2, "node 0 .* in a way that does not fit"),
        ("kind", 2, 3, "node 2 .* in a way that does not fit"),
        ("n_children", 1, 2, "node 1 .* is a leaf and has children"),
        ("n_children", 2, 1, "node 2 .* fewer than two children"),
        ("n_children", 2, 0, "node 2 .* fewer than two children"),
        ("n_children", 2, 3, "node 2 .* other than the two children"),
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
        ("missing_slot", 1, STAY, "node 1 .* missing values"),
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
        ("weight", 0, 0.0, "node 0 .* has no weight"),
        ("weight", 2, 0.0, "node 2 .* has no weight"),
        ("weight", [3, 4], 0.0, "node 2 .* children without a sum of weights"),
        ("weight", [3, 4], 1.7e308, "node 2 .* children without a sum of weights"),
        ("value", 3, -1e301, "node 3 .* too large to be added up"),
        ("gain", 0, -1.0, "node 0 .* negative gain"),
        ("gain", 3, 1.0, "node 3 .* is a leaf and has a gain"),
        ("gain", 0, 1.7e308, "node 0 .* gain too large"),
        ("impurity", 3, -1.0, "node 3 .* negative impurity"),
        ("category_start", 0, 0, "node 0 .* list of categories"),
        ("n_surrogates", 2, -1, "node 2 .* negative number of surrogates"),
        ("n_surrogates", 2, 1, "has 0 surrogates; its nodes count 1"),
    ],
)
def test_a_node_that_breaks_a_rule_is_named(name, node, entry, message):
    with pytest.raises(ModelFileError, match=message):
        check_tree(with_node(name, node, entry), BOTH)


@pytest.mark.parametrize(
    ("name", "at", "entry", "message"),
    [
        ("kind", 0, 1, "node 0 .* other than the two children"),
        ("kind", 0, 2, "node 0 .* other than the two children"),
        ("kind", 2, 1, "node 2 .* in a way that does not fit"),
        ("feature", 2, 0, "node 2 .* in a way that does not fit"),
        ("threshold", 0, 1.0, "node 0 .* has categories and a threshold"),
        ("missing_slot", 0, 3, "node 0 .* missing values"),
        ("missing_slot", 2, 2, "node 2 .* missing values"),
        ("category_start", 0, -1, "node 0 .* list of categories"),
        ("category_start", 0, 1, "node 0 .* list of categories"),
        ("category_start", 1, 0, "node 1 .* list of categories"),
        ("category_start", 2, 3, "node 0 .* list of categories"),
        ("category_start", 2, 5, "node 0 .* list of categories"),
        ("category_start", 2, 2**31 - 1, "node 2 .* list of categories"),
        ("category", 0, 2, "node 0 .* list of categories"),
        ("category", 0, 60_000, "node 0 .* list of categories"),
        ("category", 4, 4, "node 2 .* list of categories"),
        ("category", 1, 60_000, "node 0 .* names a category"),
        ("category", 1, 3, "node 0 .* names a category"),
        ("category", 7, 2, "node 2 .* names a category"),
        ("category", 11, 60_000, "surrogate 1 .* names a category"),
        ("category", [1, 2], [2, 1], "node 0 .* ascending order"),
        ("category", 1, 2, "node 0 .* ascending order"),
        ("category_slot", 2, 0, "one form"),
        ("category_slot", 0, 2, "one form"),
        ("category_slot", 1, 3, "node 0 .* sends a category"),
        ("category_slot", 3, 3, "node 0 .* sends a category"),
        ("category_slot", 4, 2, "node 2 .* sends a category"),
        ("category_slot", 5, STAY - 1, "node 2 .* sends a category"),
        ("category_slot", 9, 2, "surrogate 1 .* sends a category"),
        ("n_surrogates", 0, 2, "has 2 surrogates; its nodes count 4"),
        ("n_surrogates", [0, 2], [1, 1], "node 0 .* has surrogates but not two children"),
        ("n_surrogates", [1, 2], [1, 1], "node 1 .* has surrogates but not two children"),
        ("surrogate_feature", 0, 2, r"surrogate 0 .* feature outside 0\.\.1"),
        ("surrogate_feature", 1, -1, r"surrogate 1 .* feature outside 0\.\.1"),
        ("surrogate_threshold", 0, NAN, "surrogate 0 .* no threshold"),
        ("surrogate_threshold", 0, INF, "surrogate 0 .* no threshold"),
        ("surrogate_threshold", 1, 0.5, "surrogate 1 .* categories and a threshold"),
        ("surrogate_slot", 0, 2, "surrogate 0 .* child other than 0 and 1"),
        ("surrogate_slot", 1, STAY, "surrogate 1 .* child other than 0 and 1"),
        ("surrogate_category_start", 0, 8, "surrogate 0 .* list of categories"),
        ("surrogate_category_start", 1, 4, "node 2 .* list of categories"),
        ("surrogate_category_start", 1, -1, "surrogate 1 .* list of categories"),
        ("surrogate_agreement", 0, -0.1, r"surrogate 0 .* outside 0\.\.1"),
        ("surrogate_agreement", 0, 1.1, r"surrogate 0 .* outside 0\.\.1"),
        ("surrogate_agreement", 1, NAN, r"surrogate 1 .* outside 0\.\.1"),
    ],
)
def test_a_list_of_categories_or_a_surrogate_that_breaks_a_rule_is_named(name, at, entry, message):
    with pytest.raises(ModelFileError, match=message):
        check_tree(with_node(name, at, entry, many), MIXED)


@pytest.mark.parametrize("n_categories", [[None, 2], [None, 4], [3, 3], [None, None]])
def test_lists_for_another_number_of_categories_are_refused(n_categories):
    with pytest.raises(ModelFileError):
        check_tree(Tree(**many()), n_categories)


@pytest.mark.parametrize("change", [lambda slot: slot[:-1], lambda slot: [*slot, 0]])
def test_gaps_and_rests_in_the_lists_are_refused(change):
    changed = {name: change(many()[name]) for name in ("category", "category_slot")}
    with pytest.raises(ModelFileError, match=r"surrogate 1 .* list of categories"):
        check_tree(Tree(**{**many(), **changed}), MIXED)
    for name, only_one in changed.items():
        with pytest.raises(ModelFileError, match="differ in length"):
            check_tree(Tree(**{**many(), name: only_one}), MIXED)
    with pytest.raises(ModelFileError, match="that nobody tests"):
        check_tree(tree(category=[1, 2], category_slot=[0, 0]), BOTH)


def test_features_beyond_the_table_are_refused():
    with pytest.raises(ModelFileError, match=r"node 2 .* outside 0\.\.0"):
        check_tree(tree(), [None])


def test_missing_and_surplus_nodes_are_refused():
    for nodes in [(0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4, 4), (1, 1, 1), (0,)]:
        with pytest.raises(ModelFileError, match=f"a tree has {len(nodes)} nodes"):
            check_tree(only(*nodes), BOTH)


def test_children_numbered_in_another_order_are_refused():
    with pytest.raises(ModelFileError, match="not numbered breadth-first"):
        check_tree(only(0, 2, 2, 1, 1, 1, 1, first_child=[1, 5, 3, -1, -1, -1, -1]), BOTH)


def test_a_node_that_is_its_own_child_is_refused():
    with pytest.raises(ModelFileError, match=r"node 1 .* numbered after its own children"):
        check_tree(only(1, 0, 1, first_child=[-1, 1, -1]), BOTH)


def test_two_nodes_that_lead_to_each_other_are_refused():
    loop = only(0, 1, 1, 1, 0, first_child=[1, -1, -1, -1, 3])
    with pytest.raises(ModelFileError, match=r"node 4 .* numbered after its own children"):
        check_tree(loop, BOTH)
