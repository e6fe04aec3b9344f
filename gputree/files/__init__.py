"""Tables in files: CSV, TSV, Parquet, Arrow and ARFF, whole or in chunks.

Knows pyarrow, which is imported when a file is opened; must not know trees, targets nor codes.
"""

from gputree.files.layout import Layout
from gputree.files.many import open_files
from gputree.files.opening import open_file, read_file
from gputree.files.parts import split_dates
from gputree.files.readings import Reading
from gputree.files.table_file import TableFile

__all__ = [
    "Layout",
    "Reading",
    "TableFile",
    "open_file",
    "open_files",
    "read_file",
    "split_dates",
]
