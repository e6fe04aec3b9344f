"""C4.5's pruning against Weka's J48, node by node."""

from dataclasses import replace

import numpy as np
import pytest

from gputree import C45Classifier
from gputree.data.inputs import read_table
from gputree.pruning import ReducedError
from gputree.pruning.error_based import ErrorBased, own_counts
from gputree.tree.tree import Split
from tests.peers.golden import declared, names, requires, results, table
from tests.peers.test_weka import EXACT, compare, run_of, told

pytestmark = requires

RELEASE_8 = {"min_branch": 2, "mdl_correction": True, "thresholds": "value"}

# The options of J48, what the tree is grown with, and how it is pruned.
WEKA_39 = {
    "-C 0.25 -M 2": ({}, {}),
    "-C 0.25 -M 2 -O": ({}, {"collapse": False}),
    "-C 0.25 -M 2 -J": ({"mdl_correction": False}, {}),
    "-C 0.25 -M 2 -S -O": ({}, {"raising": False, "collapse": False}),
    "-C 0.25 -M 2 -doNotMakeSplitPointActualValue": ({"thresholds": "midpoint"}, {}),
}
WEKA_36 = {
    "-C 0.25 -M 2": ({}, {}),
    "-C 0.25 -M 2 -S": ({}, {"raising": False}),
    "-C 0.25 -M 5": ({"min_branch": 5}, {}),
    "-C 0.05 -M 2": ({}, {"confidence": 0.05}),
}
REDUCED_ERROR = "-R -N 3 -Q 1 -M 2"
SLACK = 1e-6  # Weka 3.6 takes values that are not further apart for equal


class Sample:
    """A table of the other system."""

    def __init__(self, system, name, options):
        self.found = results(system, name)
        self.run = run_of(self.found, options)
        X, y = table(name)
        names_of = self.found["attributes"], self.found["class_attribute"]
        self.X, self.y, self.classes = declared(X, y, *names_of)

    def grown(self, rows=slice(None), **options):
        """A model, the columns of all rows and the classes of these."""
        options = {**RELEASE_8, **options, "min_gap": 1e-5, "max_bins": EXACT, "backend": "numpy"}
        model = C45Classifier(**options, pruning=None).fit(self.X.iloc[rows], self.y.iloc[rows])
        columns = read_table(self.X, like=model.schema_).columns
        label = np.searchsorted(model.classes_, self.y.astype(int))
        return model, [np.asarray(column.values) for column in columns], label

    def differences(self, model):
        tree, run = model.nodes_, self.run
        weights = np.zeros((tree.n_nodes, len(self.classes)))
        weights[:, model.classes_] = own_counts(tree)
        ours = told(model, 0, weights)
        assert sizes(ours) == (run["leaves"], run["size"])
        return compare(ours, run["tree"])


def sizes(told):
    """Leaves and nodes, with an empty leaf per category as Weka has them."""
    below = [sizes(son) for son in told.get("sons", [])]
    if not below:
        return 1, 1
    return sum(leaves for leaves, _ in below), 1 + sum(nodes for _, nodes in below)


def at_values(tree, columns):
    """The tree with the thresholds of Weka 3.6: it looks at values of all rows, one by one."""
    threshold = tree.threshold.copy()
    for node in np.flatnonzero(tree.kind == Split.THRESHOLD):
        found = -np.inf
        for value in columns[tree.feature[node]]:
            if value - found > SLACK and value - tree.threshold[node] < SLACK:
                found = value
        threshold[node] = found
    return replace(tree, threshold=threshold)


@pytest.mark.quick("-M 2]", "breast_cancer", "hepatitis")
@pytest.mark.parametrize("options", WEKA_39)
@pytest.mark.parametrize("name", names("weka39"))
def test_error_based_pruning_leaves_what_j48_leaves(name, options):
    sample = Sample("weka39", name, options)
    growing, pruning = WEKA_39[options]
    model, columns, label = sample.grown(**growing)
    model.nodes_ = ErrorBased(**pruning).pruned(model.nodes_, columns.__getitem__, label)
    assert sample.differences(model) == []
    assert model.predict(sample.X).tolist() == sample.run["train_pred"]


@pytest.mark.quick("-M 2]", "breast_cancer", "hepatitis")
@pytest.mark.parametrize("options", WEKA_36)
@pytest.mark.parametrize("name", names("weka36"))
def test_error_based_pruning_leaves_what_older_j48_leaves(name, options):
    sample = Sample("weka36", name, options)
    growing, pruning = WEKA_36[options]
    model, columns, label = sample.grown(**growing, thresholds="midpoint")
    tree = at_values(model.nodes_, columns)
    model.nodes_ = ErrorBased(**pruning).pruned(tree, columns.__getitem__, label)
    assert sample.differences(model) == []


@pytest.mark.parametrize("name", names("weka36"))
def test_reduced_error_pruning_leaves_what_j48_leaves(name):
    sample = Sample("weka36", name, REDUCED_ERROR)
    pruning_rows = np.sort(sample.found["j48_R_N3_Q1_prune_rows"])
    others = np.setdiff1d(np.arange(len(sample.y)), pruning_rows)
    model, columns, _ = sample.grown(others, thresholds="midpoint")
    # Thresholds are values of all rows, also of those that prune.
    model.nodes_ = at_values(model.nodes_, columns)
    method = ReducedError(prunes_ties=True, row_shares="validation")
    pruned = model.prune(method, sample.X.iloc[pruning_rows], sample.y.iloc[pruning_rows])
    assert sample.differences(pruned) == []
