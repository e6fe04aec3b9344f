"""How long the searches go on: `python -m pytest tests/fuzz --fuzz-cases 10000 --fuzz-seed 1`."""

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("fuzz", "random searches")
    group.addoption(
        "--fuzz-cases",
        type=int,
        default=None,
        help="how many cases each search tries; a few seconds' worth by default",
    )
    group.addoption("--fuzz-seed", type=int, default=0, help="the first seed")


def option(config, name, default):
    """An option; it is unknown where pytest was not told of this folder."""
    found = config.getoption(name, default)
    return default if found is None else found


@pytest.fixture
def fuzz_cases(request):
    """How many cases were asked for; None for a few seconds' worth."""
    return option(request.config, "--fuzz-cases", None)


@pytest.fixture
def fuzz_seed(request):
    return option(request.config, "--fuzz-seed", 0)
