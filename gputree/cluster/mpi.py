"""Ranks that are processes of MPI."""

import time
from typing import Any

from mpi4py import MPI

from gputree.cluster.comm import Message
from gputree.errors import ClusterError

SPEECH, OVER = 1, 2  # tags
MANY_LOOKS = 1000  # for a message that is about to come, before the thread sleeps between looks
NAP = 1e-4  # seconds


def world() -> Any:
    """All processes that were started together."""
    return MPI.COMM_WORLD


class MpiLink:
    """Messages by a communicator of its own; whoever waits looks for an end, too."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm.Dup()
        self.rank, self.size = self._comm.Get_rank(), self._comm.Get_size()
        self.where = f"process {self.rank} on {MPI.Get_processor_name()}"
        self._sent: list[Any] = []

    def send(self, to: int, message: Message) -> None:
        self._sent = [each for each in self._sent if not each.Test()]
        self._sent.append(self._comm.isend(message, to, SPEECH))

    def receive(self, source: int, deadline: float) -> Message:
        looks = 0
        while not self._comm.iprobe(source, SPEECH):
            if self._comm.iprobe(MPI.ANY_SOURCE, OVER):
                raise ClusterError(self._comm.recv(source=MPI.ANY_SOURCE, tag=OVER))
            if time.monotonic() > deadline:
                raise TimeoutError
            looks += 1
            if looks > MANY_LOOKS:
                time.sleep(NAP)
        message: Message = self._comm.recv(source=source, tag=SPEECH)
        return message

    def warn(self, why: str, *, is_lost: bool) -> None:
        others = [rank for rank in range(self.size) if rank != self.rank]
        self._sent += [self._comm.isend(why, rank, OVER) for rank in others]
