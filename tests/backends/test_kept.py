"""Machine code of CUDA kernels on the disk: found by what a kernel is, if it is whole."""

import pytest

from gputree.backends.cuda import kept
from gputree.kernels.cuda import split
from gputree.kernels.cuda.gpu import SIMULATED


def made(constant, formula):
    def kernel(x):
        return formula(x) + constant

    return kernel


def once(x):
    return x


def twice(x):
    return 2 * x


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUTREE_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_kernels_of_one_factory_differ_by_what_it_puts_into_them():
    first = kept.fingerprint(made(1, once))
    assert first == kept.fingerprint(made(1, once))
    others = made(2, once), made(1.0, once), made(1, twice), made(1, lambda x: x)
    assert len({first, *map(kept.fingerprint, others)}) == 5


def test_what_a_function_of_the_users_finds_in_its_module_counts(monkeypatch):
    def kernel(x):
        return once(x)

    before = kept.fingerprint(kernel)
    monkeypatch.setitem(globals(), "once", twice)
    assert kept.fingerprint(kernel) != before


@pytest.mark.skipif(SIMULATED, reason="kernels of the simulator have no code")
def test_every_criterion_has_kernels_of_its_own():
    from gputree.kernels.criteria import SOURCES

    assert len({kept.fingerprint(split.make_scan(source)) for source in SOURCES}) == len(SOURCES)


def test_code_is_made_once(folder):
    assert kept.found_or_made("key", "scan", lambda: b"code") == b"code"
    assert [file.name.partition("-")[0] for file in folder.iterdir()] == ["scan"]
    assert kept.found_or_made("key", "scan", lambda: pytest.fail("it was there")) == b"code"
    assert kept.found_or_made("other key", "scan", lambda: b"other") == b"other"


@pytest.mark.parametrize(
    "damage", [lambda code: code[:-1], lambda code: b"", lambda code: code * 2]
)
def test_damaged_code_is_made_anew(folder, damage):
    kept.found_or_made("key", "scan", lambda: b"code")
    (file,) = folder.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert kept.found_or_made("key", "scan", lambda: b"new") == b"new"
    assert kept.found_or_made("key", "scan", lambda: pytest.fail("it was there")) == b"new"


def test_a_folder_that_cannot_be_written_to_is_done_without(monkeypatch, folder):
    (folder / "file").write_bytes(b"")
    monkeypatch.setenv("GPUTREE_CACHE_DIR", str(folder / "file" / "below"))
    assert kept.found_or_made("key", "scan", lambda: b"code") == b"code"
