"""The examples of the user guide run, one after another."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "files.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_examples_run(capsys):
    assert len(EXAMPLES) == 4
    names = {}
    for number, example in enumerate(EXAMPLES):
        exec(compile(example, f"example {number}", "exec"), names)
    printed = capsys.readouterr().out
    assert "('height', 'kind') ('numeric', 'text')" in printed
    assert "'price': [1200.5, 3.99]" in printed
    assert "['no' 'yes']" in printed
    assert printed.endswith("['herb' 'tree' 'tree']\n")
