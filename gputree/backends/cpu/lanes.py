"""Memory that a thread keeps from one column to the next: new memory is slow."""

import mmap
import threading

import numpy as np
import numpy.typing as npt

from gputree.dtypes import HostArray


class Lane:
    """The rooms of one thread."""

    def __init__(self) -> None:
        self._rooms: dict[str, HostArray] = {}

    def room(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> HostArray:
        """An array with whatever was last left in the room of that name."""
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if name not in self._rooms or self._rooms[name].nbytes < n_bytes:
            self._rooms.pop(name, None)
            # Straight from the system, and back to it at once when the room is given up: what the
            # heap of a thread has had, it keeps.
            self._rooms[name] = np.frombuffer(mmap.mmap(-1, max(1, n_bytes)), np.uint8)
        return self._rooms[name][:n_bytes].view(dtype).reshape(shape)


class Lanes:
    """A lane for each thread that asks."""

    def __init__(self) -> None:
        self._of_thread: dict[int, Lane] = {}

    @property
    def own(self) -> Lane:
        """The lane of the calling thread."""
        return self._of_thread.setdefault(threading.get_ident(), Lane())

    def clear(self) -> None:
        """Return the memory."""
        self._of_thread.clear()
