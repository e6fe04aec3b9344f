"""Parquet files that every rank reads a part of."""

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet
from sklearn.base import clone, is_classifier

import gputree
from gputree import Dataset, cluster
from gputree.cluster.files import Wanted
from gputree.cluster.fitting import fit_rank, prepared
from gputree.cluster.threads import run_ranks
from gputree.data import stream_cuts
from tests.cluster.spread import DEADLINE


@pytest.fixture
def folder(tmp_path):
    """Files of uneven row groups, with categories of which each knows some."""
    write(table(400), tmp_path)
    return tmp_path


def table(n_rows):
    rng = np.random.default_rng(0)
    found = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows).round(2),
            "code": rng.integers(0, 5, n_rows),
            "colour": np.sort(rng.choice(["red", "blue", "green", "pink"], n_rows)),
            "kind": pd.Categorical(rng.choice(["z", "a", "m"], n_rows)),
            "w": rng.choice([0.0, 0.5, 1.0, 2.0], n_rows),
        }
    )
    found.loc[rng.random(n_rows) < 0.2, "size"] = np.nan
    found["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), "D")
    found["number"] = found["code"] * 2.0 + rng.normal(size=n_rows).round(1)
    found["label"] = np.where(found["number"] > 4, "yes", "no")
    return found


def write(found, folder, bounds=(0, 30, 220, 400), row_group_size=37):
    for at, (first, last) in enumerate(pairwise(bounds)):
        # As Dask and Spark write it: the dictionary of a file has what the file has.
        part = found.iloc[first:last].reset_index(drop=True)
        own = pyarrow.Table.from_pandas(part)
        parquet.write_table(own, folder / f"part-{at}.parquet", row_group_size=row_group_size)


def fitted(estimator, n_ranks, *args, **kwargs):
    wanted = Wanted(*args, max_bytes=kwargs.pop("max_bytes", 1000), **kwargs)
    task = partial(fit_rank, prepared(estimator), parts=[(wanted, None)])
    return [found.estimator for found in run_ranks([task] * n_ranks, DEADLINE)]


MODELS = [
    gputree.DecisionTreeClassifier(max_bins=16),
    gputree.DecisionTreeRegressor(missing="surrogate", max_depth=4),
    gputree.RandomForestClassifier(30, max_depth=3, oob_score=True, random_state=0),
    gputree.BaggingRegressor(n_estimators=2, max_features=0.5, random_state=0),
    gputree.AdaBoostClassifier(n_estimators=3, random_state=0),
    gputree.GradientBoostingClassifier(3, subsample=0.7, random_state=0),
    gputree.GradientBoostingRegressor(
        20, early_stopping=True, n_iter_no_change=2, random_state=0, max_bins=8
    ),
]


@pytest.mark.parametrize("estimator", MODELS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("weight", [None, "w"])
def test_the_model_is_that_of_the_whole_table(folder, estimator, weight):
    target = "label" if is_classifier(estimator) else "number"
    columns = ["size", "code", "colour", "kind", "day"]
    data = Dataset.from_file(
        folder, target, weight=weight, columns=columns, max_bins=getattr(estimator, "max_bins", 255)
    )
    expected = clone(estimator).fit(data)
    for n_ranks in (1, 3, 20) if weight else (2,):
        found = fitted(estimator, n_ranks, folder, target, weight, columns)
        assert {each.to_bytes() for each in found} == {expected.to_bytes()}
    if getattr(expected, "oob_score", False):
        assert found[0].oob_score_ == expected.oob_score_


def test_cuts_that_take_many_sweeps_are_those_of_all_rows(tmp_path, monkeypatch):
    """Buckets that are divided, and values that are too many to be listed."""
    rng = np.random.default_rng(0)
    found = pd.DataFrame(
        {
            "far": 1e12 + rng.integers(0, 10**6, 3000),
            "near": rng.uniform(1.0, 1.001, 3000),
            "few": rng.integers(0, 40, 3000),
            "y": rng.normal(size=3000),
        }
    )
    write(found, tmp_path, (0, 1000, 3000), 400)
    monkeypatch.setattr(stream_cuts, "MOST_LISTED", 64)
    tree = gputree.DecisionTreeRegressor(max_bins=20, max_depth=5)
    expected = clone(tree).fit(found[["far", "near", "few"]], found["y"])
    (one, *_) = fitted(tree, 3, tmp_path, "y", max_bytes=5000)
    assert one.to_bytes() == expected.to_bytes()


def test_declared_categories_keep_the_order_of_the_files(tmp_path):
    found = pd.DataFrame({"kind": ["b", "c", "a", "b", "d", "a"] * 3, "x": np.arange(18.0)})
    found["y"] = (found["x"] % 4).round()
    own = found.assign(kind=pd.Categorical(found["kind"], ["d", "c", "b", "a"]))
    write(own, tmp_path, (0, 7, 18), 3)
    tree = gputree.DecisionTreeRegressor()
    expected = clone(tree).fit(Dataset.from_file(tmp_path, "y"))
    (one, *_) = fitted(tree, 4, tmp_path, "y")
    assert one.schema_.categories == expected.schema_.categories
    assert one.to_bytes() == expected.to_bytes()


def test_row_groups_are_shared_out_evenly(folder):
    shares = Wanted(folder, "label").shared_out(3)
    rows = [sum(group.n_rows for group in share.rows.groups) for share in shares]
    assert sum(rows) == 400
    assert max(rows) - min(rows) <= 2 * 37
    numbers = [group.first for share in shares for group in share.rows.groups]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == len(numbers)


def test_files_that_cannot_be_used_are_told_of(folder, tmp_path):
    tree = gputree.DecisionTreeClassifier()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "table.csv").write_text("a,y\n1,2\n")
    for args, problem in [
        ((folder, "lable"), "has no column 'lable'"),
        ((folder / "nothing*.parquet", "label"), "no file matches"),
        ((tmp_path / "texts" / "table.csv", "y"), "is CSV, not for fits on clusters"),
    ]:
        with pytest.raises((ValueError, OSError), match=problem):
            fitted(tree, 3, *args)
    found = table(90)
    found.loc[71, "label"] = None
    write(found, tmp_path, (0, 90), 20)
    for path in tmp_path.glob("part-[12]*"):
        path.unlink()
    with pytest.raises(ValueError, match=r"is missing in row 12 of row group 4 of .*part-0"):
        fitted(tree, 2, tmp_path / "part-0.parquet", "label")
    with pytest.raises(ValueError, match=r"give client= or comm=.*Dataset\.from_file"):
        cluster.fit(tree, tmp_path, target="label")
    with pytest.raises(ValueError, match="the name of the column to predict"):
        cluster.fit(tree, str(tmp_path))
    with pytest.raises(ValueError, match="parts bring their own"):
        cluster.fit(tree, [(found[["size"]], found["code"])], target="label")
