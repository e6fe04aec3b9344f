"""C4.5 and ID3 against Weka's J48 and Id3, node by node."""

import numpy as np
import pytest

from gputree import C45Classifier, ID3Classifier
from gputree.tree.tree import Split
from tests.peers.golden import declared, names, requires, results, table

pytestmark = requires

EXACT = 20_000  # bins: a code for every value
TEXTBOOK = "-U -O -J -M 1 -doNotMakeSplitPointActualValue"
RELEASE_8 = "-U -O -M 2"


def run_of(found, options, learner="J48"):
    for run in found["runs"]:
        if run["class"].endswith(learner) and (options is None or run["options"] == options):
            return run
    pytest.skip("not run there")


def told(model, node, weights):
    """A node as Weka tells it: attribute, threshold and sons, or the class of a leaf."""
    tree, schema = model.nodes_, model.schema_
    counts = weights[node]
    if tree.kind[node] == Split.LEAF:
        return {"counts": counts, "class": int(model.classes_[np.argmax(tree.value[node])])}
    feature, first = int(tree.feature[node]), int(tree.first_child[node])
    own = {"counts": counts, "att": schema.names[feature]}
    if tree.kind[node] == Split.THRESHOLD:
        own["threshold"] = float(tree.threshold[node])
        slots = [0, 1]
    else:
        slots = tree.slots(node, len(schema.categories[feature])).tolist()
    own["sons"] = [told(model, first + slot, weights) for slot in slots]
    return own


def compare(ours, theirs, path="root"):
    """All that differs, as text."""
    wrong = []
    if (
        "counts" in theirs
        and np.abs(np.array(ours["counts"]) - np.array(theirs["counts"])).max() > 1e-6
    ):
        wrong.append(f"{path}: counts {ours['counts']} / {theirs['counts']}")
    if ours.get("att") != theirs.get("att"):
        wrong.append(f"{path}: tests {ours.get('att')} / {theirs.get('att')}")
        return wrong
    if "att" not in ours:
        # Id3 has no answer where no row went.
        if theirs["class"] is not None and ours["class"] != theirs["class"]:
            wrong.append(f"{path}: class {ours['class']} / {theirs['class']}")
        return wrong
    if "threshold" in theirs and ours["threshold"] != pytest.approx(theirs["threshold"], rel=1e-12):
        wrong.append(f"{path}: threshold {ours['threshold']} / {theirs['threshold']}")
    for i, (mine, other) in enumerate(zip(ours["sons"], theirs["sons"], strict=True)):
        wrong += compare(mine, other, f"{path}/{ours['att']}[{i}]")
    return wrong


def grown(estimator, name, found):
    X, y = table(name)
    X, y, classes = declared(X, y, found["attributes"], found["class_attribute"])
    model = estimator.fit(X, y)
    weights = np.zeros((model.tree_.n_nodes, len(classes)))
    weights[:, model.classes_] = np.where(model.tree_.weight[:, None] > 0, model.nodes_.value, 0.0)
    return model, X, told(model, 0, weights)


@pytest.mark.parametrize("name", names("weka39"))
@pytest.mark.parametrize("options", [TEXTBOOK, RELEASE_8], ids=["textbook", "release 8"])
def test_c45_grows_the_trees_of_j48(name, options):
    found = results("weka39", name)
    run = run_of(found, options)
    release_8 = options == RELEASE_8
    estimator = C45Classifier(
        min_branch=2 if release_8 else 1,
        mdl_correction=release_8,
        min_gap=1e-5,
        thresholds="value" if release_8 else "midpoint",
        max_bins=EXACT,
        pruning=None,
        backend="numpy",
    )
    model, X, ours = grown(estimator, name, found)
    assert compare(ours, run["tree"]) == []
    assert model.predict(X).tolist() == run["train_pred"]


@pytest.mark.parametrize("name", names("weka36"))
def test_id3_grows_the_trees_of_weka(name):
    found = results("weka36", name)
    run = run_of(found, None, "Id3")
    _, _, ours = grown(ID3Classifier(backend="numpy"), name, found)
    assert compare(ours, run["tree"]) == []
