"""How kernels of the CUDA backend are started: over items, over tiles of rows, over pieces."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.backends.cuda.device import Device
from gputree.backends.cuda.plan import Tuning, piece_table
from gputree.dtypes import Array, HostArray
from gputree.kernels.cuda import route


@dataclass(frozen=True)
class Launches:
    """A device, and the sizes of the blocks it gets."""

    device: Device
    tuning: Tuning

    def over(self, kernel: Any, n: int, *args: Any) -> None:
        """Launch a kernel whose threads stride over `n` items."""
        threads = self.tuning.threads
        blocks = max(1, min(-(-n // threads), 2**16))
        self.device.launch(kernel, blocks, threads, *args)

    def tiled(self, kernel: Any, table: HostArray, *args: Any) -> None:
        """Launch a kernel with a block for each tile of a route table; none for no tiles."""
        n_tiles = len(table) // route.TILE_COLUMNS
        if n_tiles:
            tile = self.device.upload(table)
            self.device.launch(kernel, n_tiles, self.tuning.route_threads, tile, *args)

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
