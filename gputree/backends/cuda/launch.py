"""How kernels of the CUDA backend are started: over items, over tiles of rows, over pieces."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gputree.backends.cuda.device import Device
from gputree.backends.cuda.plan import Tuning, piece_table
from gputree.dtypes import Array, HostArray
from gputree.kernels.cuda import route
from gputree.runs import begins

MOST_KEPT = 32  # constants of a fit


@dataclass(frozen=True)
class Tiles:
    """A route table that was made on the device."""

    table: Array
    n: int


@dataclass(frozen=True)
class Launches:
    """A device, and the sizes of the blocks it gets."""

    device: Device
    tuning: Tuning
    _kept: dict[tuple[bytes, ...], list[Array]] = field(default_factory=dict)

    def constants(self, *arrays: HostArray) -> list[Array]:
        """Copies of small arrays that kernels only read; of the same ones, the same copies."""
        key = tuple(each.dtype.char.encode() + each.tobytes() for each in arrays)
        if key not in self._kept:
            while len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = self.device.pack(*arrays)
        return self._kept[key]

    def over(self, kernel: Any, n: int, *args: Any) -> None:
        """Launch a kernel whose threads stride over `n` items."""
        threads = self.tuning.threads
        blocks = max(1, min(-(-n // threads), 2**16))
        self.device.launch(kernel, blocks, threads, *args)

    def over_rows(self, kernel: Any, n_rows: int, *args: Any) -> None:
        """Launch a kernel whose blocks put together what they find in rows."""
        tuning = self.tuning
        blocks = max(1, min(-(-n_rows // tuning.gradient_threads), tuning.gradient_blocks))
        self.device.launch(kernel, blocks, tuning.gradient_threads, n_rows, *args)

    def tiled(self, kernel: Any, table: HostArray, told: Sequence[HostArray], *args: Any) -> None:
        """Launch a kernel with a block for each tile of a route table; none for no tiles.

        It is given the tiles, then small arrays of the host, and then the rest.
        """
        n_tiles = len(table) // route.TILE_COLUMNS
        if n_tiles:
            told = self.device.pack(table, *told)
            self.device.launch(kernel, n_tiles, self.tuning.route_threads, *told, *args)

    def cut(
        self, start: HostArray, n_rows: HostArray, *told: HostArray
    ) -> tuple[Tiles, list[Array]]:
        """The tiles of owners of rows; and small arrays of the host, which travel with them.

        The table has an entry for some thousand rows, so it is made where it is read.
        """
        n_tiles = -(-n_rows // self.tuning.route_rows)
        first, n = begins(n_tiles), int(n_tiles.sum())
        whole = (each.astype(np.int64) for each in (start, n_rows, first))
        on_device = self.device.pack(*whole, *told)
        table = self.device.empty(n * route.TILE_COLUMNS, np.int64)
        args = len(start), n, self.tuning.route_rows, *on_device[:3], table
        self.over(route.list_tiles, n, *args)
        return Tiles(table, n), on_device[3:]

    def over_tiles(self, kernel: Any, tiles: Tiles, *args: Any) -> None:
        """Launch a kernel with a block for each tile; none for no tiles."""
        if tiles.n:
            threads = self.tuning.route_threads
            self.device.launch(kernel, tiles.n, threads, tiles.table, *args)

    def picked(self, source: Array, start: HostArray, n: HostArray) -> HostArray:
        """Some pieces of an array of the device, one after another."""
        length = int(n.sum())
        if not length:
            return np.empty(0, source.dtype)
        table = piece_table(start, n, self.tuning.route_rows)
        picked = self.device.empty(length, source.dtype)
        n_pieces = len(table) // route.PIECE_COLUMNS
        args = self.device.upload(table), source, picked
        self.device.launch(route.pick, n_pieces, self.tuning.route_threads, *args)
        return self.device.download(picked)
