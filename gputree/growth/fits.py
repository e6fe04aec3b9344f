"""The combinations that a node tries first: fits of the kind that is asked for."""

from gputree.data.target import Target
from gputree.dtypes import HostArray
from gputree.growth.directions import (
    Candidates,
    NodeRows,
    Sought,
    answers_of,
    least_squares,
)
from gputree.growth.logistic import refitted


def candidates(rows: NodeRows, target: Target, row: HostArray, sought: Sought) -> Candidates:
    """The candidates of some nodes, whose rows in the target are given."""
    return fitted(rows, answers_of(rows, target, row), sought)


def fitted(rows: NodeRows, answers: HostArray, sought: Sought) -> Candidates:
    """Linear fits of every answer in every node, (fits, rows), of few columns and of more."""
    found = least_squares(rows, answers, sought)
    return refitted(rows, answers, found) if sought.directions == "logistic" else found
