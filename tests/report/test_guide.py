"""The example of the user guide runs, and its pictures are there and small."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "report.md"
TEXT = GUIDE.read_text(encoding="utf-8")


def test_the_example_runs():
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names = {}
    exec(compile(example, "example", "exec"), names)
    assert Path(names["path"]).read_text("utf-8") == names["report"].html


def test_the_pictures_are_there_and_small():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXT)
    assert len(pictures) == 4
    assert all((GUIDE.parent / each).stat().st_size < 250_000 for each in pictures)
