"""Results of other systems on real tables, where they are at hand; not part of the project."""

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
GOLDEN = SHARED / "reference" / "golden"


def names(system):
    """The tables for which there are results."""
    return sorted(path.name.removesuffix(".json.gz") for path in (GOLDEN / system).glob("*.gz"))


def results(system, name):
    with gzip.open(GOLDEN / system / f"{name}.json.gz") as file:
        return json.load(file)


def table(name):
    """Features, with declared categories, and the target."""
    if name.startswith("watermelon"):
        frame = pd.read_csv(SHARED / "data" / f"{name}.csv", dtype={"ripe": str})
        frame = frame.drop(columns="id")
        frame = frame.rename(columns={"ripe": "target"})
        text = frame.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]]
        frame = frame.astype(dict.fromkeys(text, "category"))
    elif name == "segment_challenge":
        frame = pd.read_parquet(SHARED / "data" / "segment.parquet").iloc[:1500]
    else:
        frame = pd.read_parquet(SHARED / "data" / f"{name}.parquet")
    return frame.drop(columns="target"), frame["target"]


def declared(X, y, attributes, class_attribute):
    """The table with the categories that the other system declares, and classes by their number."""
    categories = {each["name"]: each["values"] for each in attributes}
    X = X.copy()
    for column in X:
        if categories.get(column) is not None:
            kind = pd.CategoricalDtype([str(category) for category in categories[column]])
            X[column] = X[column].astype("object").map(_text, na_action="ignore").astype(kind)
    classes = [str(category) for category in categories[class_attribute]]
    number = y.astype(object).map(lambda label: classes.index(_text(label)))
    return (
        X,
        pd.Series(pd.Categorical(number.to_numpy(int), categories=range(len(classes)))),
        classes,
    )


def _text(value):
    return str(value)


requires = pytest.mark.skipif(not GOLDEN.is_dir(), reason="results of other systems are not here")
