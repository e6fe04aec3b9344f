"""C4.5 as it is by default, beside Weka's J48 on the same ten folds: as accurate.

The rule is one standard error of J48's mean over the folds, either way.
"""

import numpy as np
import pytest

from gputree import C45Classifier
from tests.peers.golden import declared, names, requires, results, table

pytestmark = requires

J48 = "-C 0.25 -M 2"
# By default thresholds are those of Quinlan's book. J48 has those of the eighth release, which take
# the bits that tell a threshold from its gain, so that fewer columns of numbers are tested: Quinlan
# (1996) brought them in because trees of such columns are less accurate without. J48 also looks at
# every value, of which segment_challenge has more than there are bins by default.
NO_CORRECTION = pytest.mark.xfail(
    strict=True, reason="thresholds cost nothing by default; see the test with mdl_correction"
)
EXACT = 20_000  # bins: a code for every value
WORSE_BY_DEFAULT = (
    *("diabetes_pima", "hepatitis", "segment_challenge"),
    *("watermelon3", "weather_numeric"),
)


def run_of(name):
    """The run of J48 with pruning; None for a regression."""
    return next((run for run in results("weka36", name)["runs"] if run["options"] == J48), None)


def tables():
    return [name for name in names("weka36") if run_of(name) is not None]


def accuracies(name, **options):
    """The accuracy of each fold, ours and that of J48."""
    found = results("weka36", name)
    X, y, _ = declared(*table(name), found["attributes"], found["class_attribute"])
    y, theirs = y.to_numpy(int), np.array(run_of(name)["cv10_pred"])
    folds = []
    for test in found["cv10_seed1_test_rows"]:
        train = np.setdiff1d(np.arange(len(y)), test)
        model = C45Classifier(**options).fit(X.iloc[train], y[train])
        ours = model.predict(X.iloc[test])
        folds.append([(answer == y[test]).mean() for answer in (ours, theirs[test])])
    return np.array(folds).T


def standard_error(folds):
    return folds.std(ddof=1) / np.sqrt(len(folds))


def assert_as_accurate(ours, theirs):
    assert abs(ours.mean() - theirs.mean()) <= standard_error(theirs) + 1e-12


@pytest.mark.quick(
    "breast_cancer", "car", "contact", "hepatitis", "iris", "labor", "vote", "weather"
)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=NO_CORRECTION if name in WORSE_BY_DEFAULT else ())
        for name in tables()
    ],
)
def test_c45_is_as_accurate_as_j48(name):
    assert_as_accurate(*accuracies(name))


@pytest.mark.parametrize("name", WORSE_BY_DEFAULT)
def test_where_it_is_less_accurate_the_correction_of_release_8_makes_it_as_accurate(name):
    assert_as_accurate(*accuracies(name, mdl_correction=True, max_bins=EXACT))
