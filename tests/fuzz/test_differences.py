"""A random search for two ways to compute the same that differ. A find is kept in `corpus`.

python -m pytest tests/fuzz/test_differences.py --fuzz-cases 500 --fuzz-seed 1000
python -m tests.fuzz 1234              # one case: what is wrong, and its shortest form
python -m tests.fuzz tests/fuzz/corpus/some.json
"""

from pathlib import Path

import pytest

from tests.fuzz import cases, draws, ways

CASES = 60  # in a run of all tests
PARTS = 4  # that several processes may share
CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json"))


@pytest.mark.parametrize("path", CORPUS, ids=[path.stem for path in CORPUS])
def test_what_was_found_once_stays_right(path):
    said, _ = ways.problems(cases.from_text(path.read_text()))
    assert not said


@pytest.mark.parametrize("part", range(PARTS))
def test_all_ways_agree(fuzz_cases, fuzz_seed, part):
    found = {}
    for seed in range(fuzz_seed + part, fuzz_seed + (fuzz_cases or CASES), PARTS):
        said, _ = ways.problems(draws.draw(seed), ways.drawn_ways(seed))
        found.update({f"python -m tests.fuzz {seed}": said} if said else {})
    assert not found, "\n".join(f"{command}  # {said}" for command, said in found.items())
