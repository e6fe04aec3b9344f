"""Ranks that compute on GPUs: sums of nodes stay on the devices, and NCCL adds them up there.

All else that ranks say to one another is short and goes by their `Comm`. It also says what is about
to be added, so that ranks that are out of step, or are lost, are told of before NCCL waits for
them; and whoever is lost later is given up at the deadline, since NCCL itself waits for ever.
"""

import pickle
import time
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from gputree.backends.contract import Backend, Moves, RawScores, Residuals, Rows
from gputree.cluster.backend import ClusterBackend, of_own_rows
from gputree.cluster.comm import LONGEST_WAIT, Ranks
from gputree.dtypes import Array, HostArray
from gputree.errors import LostRank

NAP = 1e-5  # seconds between looks at whether sums are there


class Adder(Protocol):
    """Who adds up arrays of int64 on devices."""

    def add(self, sums: Array) -> Array:
        """The sums of all ranks."""
        ...


class ByHost:
    """By way of main memory: where devices cannot talk to one another."""

    def __init__(self, comm: Ranks, device: Any) -> None:
        self._comm, self._device = comm, device

    def add(self, sums: Array) -> Array:
        found = self._device.download(sums)
        self._comm.add(found)
        return self._device.upload(found)


class ByNccl:
    """By NCCL through CuPy, on the stream of the device."""

    def __init__(self, comm: Ranks, device: Any, timeout: float = LONGEST_WAIT) -> None:
        from cupy.cuda import nccl

        self._comm, self._device, self._timeout, self._nccl = comm, device, timeout, nccl
        own = nccl.get_unique_id() if comm.rank == 0 else None
        first = pickle.loads(comm.gather(pickle.dumps(own))[0])
        with device.queue():
            self._talk = nccl.NcclCommunicator(comm.size, first, comm.rank)

    def add(self, sums: Array) -> Array:
        nccl, place = self._nccl, sums.data.ptr
        # All are there, and at the same sums: no numbers, but their shape is compared.
        self._comm.join("nccl", np.empty((sums.size, 0), np.int64), np.add)
        with self._device.queue() as stream:
            kind = nccl.NCCL_INT64, nccl.NCCL_SUM
            self._talk.allReduce(place, place, sums.size, *kind, stream)
            self._wait(self._device.record())
        return sums

    def _wait(self, event: Any) -> None:
        deadline = time.monotonic() + self._timeout
        while not event.done:
            self._talk.check_async_error()
            if time.monotonic() > deadline:
                self._talk.abort()
                raise LostRank(
                    f"NCCL has not added up sums on rank {self._comm.rank} within "
                    f"{self._timeout:g} seconds: another rank is lost, or stuck"
                )
            time.sleep(NAP)


class DeviceClusterBackend(ClusterBackend):
    """The rows of this rank on its device, and the sums of all ranks there.

    Every rank searches all columns: a device does that in less time than a message takes.
    """

    def __init__(self, local: Backend, comm: Ranks, n_rows: int, adder: Adder) -> None:
        super().__init__(local, comm, n_rows)
        self._adder = adder

    derive, dense, best_splits, rate, cells, seen, rate_categories, split_categories = map(
        of_own_rows,
        (
            *("derive", "dense", "best_splits", "rate", "cells", "seen", "rate_categories"),
            "split_categories",
        ),
    )
    urn, drawn, pass_on = map(of_own_rows, ("urn", "drawn", "pass_on"))

    def route(self, rows: Rows, moves: Moves) -> Rows:
        # What children have in all says nothing of the rows here.
        return self._local.route(rows, replace(moves, n_rows=None))

    def residuals(self, raw_scores: RawScores, rows: Rows, number: HostArray) -> Residuals:
        raise ValueError(
            "quantiles of the rows of a leaf are not found on several GPUs yet; set device='cpu', "
            "or use a loss whose leaves are sums, such as 'squared_error'"
        )

    def tally(self, rows: Rows, nodes: HostArray) -> Any:
        sums = self._adder.add(self._local.sum_up(rows, nodes))
        return self._local.hist_of(rows, sums, rows.bins)


def on_device(local: Any, comm: Ranks, n_rows: int) -> DeviceClusterBackend:
    """The backend of a rank with a device: by NCCL where CuPy has it, else by main memory."""
    device = local.opened
    by_nccl = hasattr(device, "queue") and _has_nccl()
    # Devices can only add up together.
    by_nccl = all(each == b"1" for each in comm.gather(b"1" if by_nccl else b"0"))
    adder: Adder = ByNccl(comm, device) if by_nccl else ByHost(comm, device)
    return DeviceClusterBackend(local, comm, n_rows, adder)


def _has_nccl() -> bool:
    try:
        from cupy.cuda import nccl
    except ImportError:
        return False
    return bool(nccl.available)
