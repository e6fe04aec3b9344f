"""Programs that read `tree_` of scikit-learn find the same under the same names."""

import numpy as np
import pytest
import sklearn.tree
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

import gputree


@pytest.fixture(scope="module")
def table():
    X, y = load_iris(return_X_y=True)
    X[::7, 2] = np.nan
    return X, y


def rules_of(tree):
    """Every path to a leaf as scikit-learn's documentation walks a tree."""
    found, stack = [], [(0, ())]
    while stack:
        node, path = stack.pop()
        left, right = tree.children_left[node], tree.children_right[node]
        if left == right:
            found.append((path, tree.n_node_samples[node], tree.weighted_n_node_samples[node]))
            continue
        threshold = round(tree.threshold[node], 5)  # scikit-learn reads values as float32
        test = tree.feature[node], threshold, tree.missing_go_to_left[node]
        stack += [(left, (*path, (*test, "left"))), (right, (*path, (*test, "right")))]
    return sorted(found)


def test_a_walk_by_the_familiar_names_finds_the_same_rules(table):
    X, y = table
    weight = 1.0 + np.arange(len(y)) % 3
    options = {"max_depth": 2, "criterion": "entropy"}
    ours = gputree.DecisionTreeClassifier(**options).fit(X, y, weight).tree_
    # scikit-learn draws among features that are worth the same.
    theirs = sklearn.tree.DecisionTreeClassifier(**options, random_state=3).fit(X, y, weight).tree_
    assert rules_of(ours) == rules_of(theirs)
    assert (ours.node_count, ours.max_depth) == (theirs.node_count, theirs.max_depth)


def test_rows_of_an_array_reach_their_leaves(table):
    X, y = table
    tree = gputree.DecisionTreeClassifier().fit(X, y)
    assert (tree.tree_.apply(X) == tree.apply(X)).all()
    full = np.nan_to_num(X)
    assert (tree.tree_.apply(csr_array(full)) == tree.apply(full)).all()


def test_names_for_pairs_are_refused_where_nodes_have_more_children(table):
    X, y = table
    X = np.digitize(X, [1.0, 2.0, 3.0, 4.0])
    options = {"nominal": "multiway", "categorical_features": [0, 1, 2, 3]}
    tree = gputree.DecisionTreeClassifier(**options).fit(X, y).tree_
    with pytest.raises(ValueError, match=r"children_left.*more than two children.*first_child"):
        _ = tree.children_left
    with pytest.raises(ValueError, match="tests categories"):
        tree.apply(X)


def test_leaves_and_values_look_as_in_scikit_learn(table):
    X, y = table
    Y = np.column_stack([X[:, 0], X[:, 1]])
    for kind, target in (("Classifier", y), ("Regressor", X[:, 0]), ("Regressor", Y)):
        own, other = (
            getattr(module, f"DecisionTree{kind}")(max_depth=1, random_state=3).fit(
                X[:, 3:], target
            )
            for module in (gputree, sklearn.tree)
        )
        ours, theirs = own.tree_, other.tree_
        for name in ("feature", "threshold", "value", "children_left", "children_right"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6)
        for name in ("n_classes", "n_outputs", "n_features", "node_count"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
        assert own.nodes_.feature[1] == -1  # the tree as it is kept


def test_texts_have_scikit_learns_form_if_they_are_asked_for(table):
    X, y = table
    own, other = (
        module.DecisionTreeClassifier(max_depth=2, criterion="entropy", random_state=3).fit(
            X[:, 3:], y
        )
        for module in (gputree, sklearn.tree)
    )
    theirs = sklearn.tree.export_text(other, show_weights=True, spacing=2)
    assert gputree.export_text(own, style="sklearn", show_weights=True, spacing=2) == theirs
    assert "entropy = " in gputree.export_graphviz(own, style="sklearn", precision=1)
    with pytest.raises(ValueError, match="style='other' is unknown"):
        gputree.export_text(own, style="other")
