"""A model file is untrusted input: it is refused, or makes a model that can do all a model can."""

import json
import time
from pathlib import Path

import pytest

from tests.fuzz.edits import content_of, edited
from tests.fuzz.judge import FINE, REFUSED, judged
from tests.fuzz.mutations import BINARY, TEXTS
from tests.fuzz.pool import FIND, Found, tried, try_all

SECONDS = 5.0  # of a short run
FINDS = json.loads(Path(__file__).with_name("finds.json").read_text())


def told(find):
    return f"{find['file']} {find['why']}"


@pytest.mark.parametrize("name", [*BINARY[::6], *TEXTS])
def test_files_that_are_right_are_fine(name):
    assert judged(content_of(name), is_text=name.endswith(".json")) == FINE


@pytest.mark.parametrize("find", FINDS, ids=told)
def test_what_was_once_found_is_refused(find):
    data = edited(find["file"], find["edits"])
    assert judged(data, is_text=find["file"].endswith(".json")) == find.get("came", REFUSED)


def test_mutated_files_are_refused_or_make_sense(fuzz_cases, fuzz_seed):
    found = Found()
    if fuzz_cases is not None:
        found = try_all(fuzz_seed, fuzz_cases)
        print(found)
    else:
        end, seed = time.monotonic() + SECONDS, fuzz_seed
        while time.monotonic() < end:
            came, how = tried(seed)
            found.counts[came] += 1
            found.finds += [how] if came == FIND else []
            seed += 1
        assert found.counts[REFUSED] > found.counts[FINE] > 0, str(found)
    assert not found.finds, str(found)
