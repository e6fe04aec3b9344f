"""Ctrl-C while compiled code runs.

numba tells of an interruption that comes while it makes arrays of what a kernel returns as a
SystemError, whose cause is the KeyboardInterrupt.
"""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptions_as_such() -> Iterator[None]:
    """Lets an interruption of compiled code be a KeyboardInterrupt.

    Examples
    --------
    >>> from gputree.backends.cpu.interrupts import interruptions_as_such
    >>> try:
    ...     with interruptions_as_such():
    ...         raise SystemError("a result with an exception set") from KeyboardInterrupt()
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    interrupted
    """
    try:
        yield
    except SystemError as error:
        if _is_interruption(error):
            raise KeyboardInterrupt from error
        raise


def _is_interruption(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
