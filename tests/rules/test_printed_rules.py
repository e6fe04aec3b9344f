"""Printed rules, followed by hand for one row at a time, answer as the classifier does."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputree import C45Classifier, CARTClassifier, DecisionTreeClassifier, RuleSetClassifier

LINE = re.compile(r"(?:IF (?P<tests>.*) THEN|ALWAYS|OTHERWISE) (?P<answer>\S+) \(.*\)")
TEST = re.compile(r"(?P<name>\S+) (?P<sign><=|>|=|in|is) (?P<what>.*)")
SIZES = ["small", "medium", "large"]
TREES = [
    C45Classifier(min_branch=1, pruning=None),
    CARTClassifier(),
    DecisionTreeClassifier(),
    DecisionTreeClassifier(missing="category", nominal="multiway"),
]


def answer_of(text, row):
    """The answer that printed rules give to a row, a dict of values by column."""
    for line in text.splitlines():
        found = LINE.fullmatch(line)
        tests = found["tests"].split(" AND ") if found["tests"] else []
        if all(is_met(test, row) for test in tests):
            return found["answer"]
    return None


def is_met(test, row):
    found = TEST.fullmatch(test)
    value, sign, what = row[found["name"]], found["sign"], found["what"]
    is_missing = value is None or (isinstance(value, float) and math.isnan(value))
    if sign == "is":
        return is_missing == (what == "missing")
    if is_missing:
        return False
    if sign in ("=", "in"):
        return value in what.strip("{}").split(", ")
    pair = (SIZES.index(value), SIZES.index(what)) if what in SIZES else (value, float(what))
    return pair[0] <= pair[1] if sign == "<=" else pair[0] > pair[1]


def frame(rows):
    data = pd.DataFrame(rows, columns=["number", "colour", "size"])
    return data.astype(
        {
            "number": float,
            "colour": "category",
            "size": pd.CategoricalDtype(SIZES, ordered=True),
        }
    )


numbers = st.one_of(st.integers(-3, 3).map(float), st.just(math.nan))
colours = st.sampled_from(["red", "green", "blue", None])
sizes = st.sampled_from([*SIZES, None])
rows = st.tuples(numbers, colours, sizes)
tables = st.lists(st.tuples(rows, st.sampled_from("abc")), min_size=4, max_size=40)
news = st.lists(
    st.tuples(numbers, st.one_of(colours, st.just("never-seen")), sizes), min_size=1, max_size=20
)


@pytest.mark.cover
@pytest.mark.parametrize("selection", ["description_length", "greedy"])
@pytest.mark.parametrize("tree", TREES, ids=str)
@settings(max_examples=40, deadline=None)
@given(table=tables, new=news)
def test_printed_rules_answer_as_the_classifier_does(tree, selection, table, new):
    X, y = frame([row for row, _ in table]), np.array([label for _, label in table])
    model = RuleSetClassifier(tree, confidence=0.5, selection=selection).fit(X, y)
    text = str(model)
    for rows_, seen in (([row for row, _ in table], True), (new, False)):
        told = []
        for number, colour, size in rows_:
            # A category that was not seen counts as missing.
            is_known = seen or colour in set(X["colour"].cat.categories)
            row = {"number": number, "colour": colour if is_known else None, "size": size}
            told.append(answer_of(text, row))
        assert model.predict(frame(rows_)).tolist() == told
        most_likely = model.predict_proba(frame(rows_)).argmax(axis=1)
        assert model.classes_[most_likely].tolist() == told


@settings(max_examples=40, deadline=None)
@given(table=tables)
def test_every_figure_printed_is_counted_on_the_training_rows(table):
    X, y = frame([row for row, _ in table]), np.array([label for _, label in table])
    model = RuleSetClassifier(DecisionTreeClassifier(), confidence=0.5).fit(X, y)
    is_left = np.ones(len(y), bool)
    *lines, last = str(model).splitlines()
    for line in [*lines, last]:
        one = line.replace("OTHERWISE", "ALWAYS")
        fires = [answer_of(one, dict(zip(X, row, strict=True))) is not None for row, _ in table]
        covered = is_left if line is last else np.array(fires)
        is_left = is_left & ~covered if line is not last else is_left
        answer = LINE.fullmatch(line)["answer"]
        among = y[covered] if covered.any() else y
        rows_ = "1 row" if covered.sum() == 1 else f"{covered.sum()} rows"
        assert line.endswith(f"{answer} ({rows_}, {(among == answer).mean():.1%})")
