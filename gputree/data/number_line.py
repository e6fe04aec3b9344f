"""Buckets of the number line, coarse and fine, and the cells they have in a table.

A table of coarse buckets has a cell for each of them, and one more for missing values. There are
too many fine buckets for that. A coarse bucket is a page of fine ones; a table holds one page for
whatever nobody asks about, and behind it the pages asked for.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gputree.dtypes import HostArray
from gputree.kernels.buckets import BUCKETS, PAGE, ordered_bucket, ordered_fine_bucket


@dataclass(frozen=True)
class Buckets:
    """Some buckets, in order: all of them coarse, or all of them fine."""

    number: HostArray
    is_fine: bool = False

    @cached_property
    def pages(self) -> HostArray:
        """The coarse buckets that fine ones are in; none if they are coarse themselves."""
        return distinct_of(self.number // PAGE) if self.is_fine else self.number[:0]

    @property
    def cell(self) -> HostArray:
        """The cells of the buckets."""
        if not self.is_fine:
            return self.number
        return PAGE * np.cumsum(is_new(self.number // PAGE)) + self.number % PAGE

    @property
    def n_cells(self) -> int:
        """The length of a table."""
        return table_length(self.pages) if self.is_fine else BUCKETS + 1


def is_new(ascending: HostArray) -> HostArray:
    """Which numbers are not those before them."""
    return np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)]


def distinct_of(ascending: HostArray) -> HostArray:
    """Each number once."""
    return ascending[is_new(ascending)]


def table_length(pages: HostArray) -> int:
    """The length of a table with these pages of fine buckets."""
    return PAGE * (1 + len(pages))


def fill_pages(page_of: HostArray, pages: HostArray) -> None:
    """For each coarse bucket and for missing values, which page of a table has their cells."""
    page_of[:] = 0
    page_of[pages] = np.arange(1, len(pages) + 1)


def bucket_in(cell: HostArray, pages: HostArray) -> HostArray:
    """The fine buckets of some cells behind the first page."""
    return pages[cell // PAGE - 1] * PAGE + cell % PAGE


def bucket_of(value: HostArray) -> HostArray:
    """The bucket of each known value: monotone in the value, the same on every backend."""
    return ordered_bucket(_short_bits(value)).astype(np.int64)


def fine_bucket_of(value: HostArray) -> HostArray:
    """The fine bucket, likewise."""
    return ordered_fine_bucket(_short_bits(value)).astype(np.int64)


def _short_bits(value: HostArray) -> HostArray:
    with np.errstate(over="ignore"):
        single = value.astype(np.float32) + np.float32(0.0)  # -0.0 equals 0.0
    return single.view(np.int32)
