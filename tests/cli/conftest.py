"""Running the command line in this process: in a folder of its own, with what it prints."""

import re

import pyarrow
import pytest

from gputree.cli.program import main
from gputree.diagnostics.tables import load_bundled


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def files(folder):
    return lambda: sorted(path.name for path in folder.iterdir())


@pytest.fixture
def run(capsys):
    """Run a command that succeeds; what it prints. Notes are checked where they are expected."""

    def run(*arguments, notes=""):
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert (status, printed.err) == (0, notes and f"gputree: note: {notes}\n")
        return printed.out

    return run


@pytest.fixture
def fail(capsys):
    """Run a command that fails; its message, checked to be all that is said."""

    def fail(*arguments):
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert (status, printed.out) == (2, "")
        assert re.fullmatch(r"gputree: error: [^\n]+\n", printed.err)
        return printed.err

    return fail


@pytest.fixture
def csv_file(folder):
    """Write a CSV file: a header in a line, then rows."""

    def write(name, header, rows):
        lines = [header, *(",".join(map(str, row)) for row in rows)]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return name

    return write


@pytest.fixture
def bundled():
    """The features of a bundled table by their names, and its target."""

    def load(name):
        table = load_bundled(name)
        X = pyarrow.table(dict(zip(table.feature_names, table.X.T, strict=True)))
        return X, table.target(table.task)

    return load


@pytest.fixture
def numbers():
    """The numbers in the line of a fact."""

    def numbers(text, name):
        (line,) = re.findall(rf"^{name} +(.*)$", text, re.MULTILINE)
        return [float(number.replace(",", "")) for number in re.findall(r"-?\d[\d,]*\.?\d*", line)]

    return numbers
