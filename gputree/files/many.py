"""Several files with the same columns, read one after another as one table."""

import glob
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from gputree.files.content import SUFFIXES as COMPRESSED
from gputree.files.formats import SUFFIXES, Format, format_of
from gputree.files.layout import Layout
from gputree.files.opening import open_file
from gputree.files.readings import Evidence, Reading, origin_of, tagged
from gputree.files.separated import SeparatedFile
from gputree.files.table_file import TableFile

Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]

PATTERN = "*?["


def open_files(
    path: Paths | TableFile,
    *,
    encoding: str = "utf-8",
    layout: Layout | None = None,
    known: Mapping[str, Reading] | None = None,
) -> TableFile:
    """Open a file, a list of them, those of a folder, or those that match a pattern."""
    if isinstance(path, TableFile):
        return path
    found = paths_of(path)
    files = [open_file(each, encoding=encoding, layout=layout, known=known) for each in found]
    return files[0] if len(files) == 1 else ManyFiles(files)


def paths_of(path: Paths) -> list[Path]:
    """The files that are meant, in their order."""
    if not isinstance(path, str | PathLike):
        if not path:
            raise ValueError("the list of files is empty; name at least one")
        return [Path(each) for each in path]
    one = Path(path)
    if one.is_dir():
        return _of_folder(one)
    if not one.exists() and any(character in PATTERN for character in fspath(path)):
        matching = sorted(glob.glob(fspath(path)))
        if not matching:
            raise FileNotFoundError(f"no file matches {fspath(path)}; check the pattern")
        return [Path(each) for each in matching]
    return [one]


def _of_folder(folder: Path) -> list[Path]:
    """The tables in a folder, which have one format; hidden files are left out."""
    inside: dict[Format, list[Path]] = {}
    for each in sorted(folder.iterdir()):
        is_packed = each.suffix.lower() in COMPRESSED
        found = SUFFIXES.get((Path(each.stem) if is_packed else each).suffix.lower())
        if found is not None and each.is_file() and not each.name.startswith("."):
            inside.setdefault(found, []).append(each)
    if not inside:
        raise ValueError(
            f"{folder} is a folder without files of CSV, Parquet, Arrow or ARFF; name a file"
        )
    if len(inside) > 1:
        raise ValueError(
            f"{folder} is a folder with files of several formats ({', '.join(inside)}); name those "
            f'that belong together by a pattern, such as "{folder / "*"}.{next(iter(inside))}"'
        )
    (files,) = inside.values()
    return files


def check_formats(path: Paths, wanted: tuple[Format, ...], caller: str) -> None:
    """Raise where a file is of another format."""
    for each in paths_of(path):
        found = format_of(each).format
        if found not in wanted:
            raise ValueError(f"{each} is {found.upper()}, not for {caller}; use from_file")


class ManyFiles(TableFile):
    """Files one after another; numbers of different types are brought to one."""

    def __init__(self, files: Sequence[TableFile]) -> None:
        self._files = files
        first = files[0]
        self.path, self.names = first.path, first.names
        self.is_inferred = any(file.is_inferred for file in files)
        for file in files[1:]:
            if set(file.names) != set(first.names):
                other = sorted(set(file.names) ^ set(first.names))
                raise ValueError(
                    f"{file.path} has other columns than {first.path}: {', '.join(other[:5])}; "
                    "give all files the same"
                )

    @property
    def n_rows(self) -> int | None:
        counts = [file.n_rows for file in self._files]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for file in self._files for note in file.notes))

    def _decide_together(self) -> None:
        """Read the columns of text files alike, by the cells of all of them."""
        files = [file for file in self._files if isinstance(file, SeparatedFile)]
        names = list(dict.fromkeys(name for file in files for name in file.worth_a_look()))
        whole = {name: Evidence() for name in names}
        for file in files:
            for name, each in file.look(names).items():
                whole[name].add(each)
        for file in files:
            file.decide(whole)

    @cached_property
    def schema(self) -> Any:
        import pyarrow

        self._decide_together()
        whole = self._files[0].schema
        for file in self._files[1:]:
            try:
                whole = pyarrow.unify_schemas([whole, file.schema], promote_options="permissive")
            except pyarrow.ArrowException as error:
                first = str(error).partition("\n")[0].rstrip(".")
                raise ValueError(
                    f"{file.path} and {self.path} do not go together: {first}; give each column "
                    "one type in all files"
                ) from error
        return pyarrow.schema([self._field(whole.field(name)) for name in self.names])

    def _field(self, field: Any) -> Any:
        """A field with the origin that it has in some of the files."""
        found = (origin_of(file.schema.field(field.name)) for file in self._files)
        return tagged(field, next((origin for origin in found if origin is not None), None))

    def chunks(self, max_bytes: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        import pyarrow

        names = self.names if columns is None else columns
        schema = pyarrow.schema([self.schema.field(name) for name in names])
        for file in self._files:
            for batch in file.chunks(max_bytes, names):
                arrays = [
                    column if column.type == wanted.type else column.cast(wanted.type)
                    for column, wanted in zip(batch.columns, schema, strict=True)
                ]
                yield pyarrow.record_batch(arrays, schema=schema)

    def state(self) -> tuple[Any, ...]:
        return tuple(file.state() for file in self._files)

    def place(self, row: int) -> str:
        for file in self._files:
            n_rows = file.count_rows()
            if row < n_rows:
                return f"{file.place(row)} of {file.path}"
            row -= n_rows
        return super().place(row)
