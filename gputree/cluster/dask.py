"""Ranks on the workers of a Dask cluster.

Each worker that holds parts gets one task, which lasts as long as the fit. The tasks talk through
the comms of their workers, which a worker takes at the address where it takes all others: no port
is opened, and TLS or UCX are as the cluster has them. The client starts the tasks, notices workers
that leave, and fetches the model.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from dask import delayed
from dask.base import is_dask_collection
from distributed import Client, Future, Worker, get_worker, secede, wait
from distributed.comm import CommClosedError, connect
from distributed.protocol import to_serialize

from gputree.cluster.comm import Inbox, Message, Ranks, run_rank
from gputree.comm import Comm
from gputree.errors import ClusterError

POLL = 0.02  # seconds between looks at the state of tasks
LOOK = 1.0  # seconds between looks for workers that have left
GRACE = 5.0  # seconds in which ranks tell of an end
LEFT = "a worker left before the fit had begun; fit again on those that are there"

Task = Callable[[Comm, Sequence[Any]], Any]


class Desk:
    """Where a worker takes the messages to its rank."""

    def __init__(self) -> None:
        self.inbox = Inbox()

    async def meet(self, comm: Any, **said: Any) -> None:
        """Take what another rank says, the first message and all others, until it has left."""
        rank, has_ended = said["rank"], False
        try:
            while True:
                if said["head"] is not None:
                    self.inbox.put(rank, (said["head"], said["body"]))
                else:
                    has_ended = True
                    if said["body"] is not None:
                        self.inbox.end(said["body"])
                said = await comm.read()
        except OSError:
            if not has_ended:
                self.inbox.end(f"rank {rank} was lost: its worker has left the cluster")


class DaskLink:
    """Messages go by a comm to each rank, which is opened when there is something to say."""

    def __init__(self, rank: int, addresses: Sequence[str], worker: Worker, name: str) -> None:
        self.rank, self.size = rank, len(addresses)
        self._addresses, self._worker, self._name = addresses, worker, name
        self._inbox: Inbox = worker.handlers[name].__self__.inbox
        self._comms: dict[int, Any] = {}
        self._turn = [asyncio.Lock() for _ in addresses]  # one message after another

    def send(self, to: int, message: Message) -> None:
        head, array = message
        self._run(self._say(to, head, to_serialize(array.copy())))

    def receive(self, source: int, deadline: float) -> Message:
        return self._inbox.take(source, deadline)

    def warn(self, why: str) -> None:
        others = [rank for rank in range(self.size) if rank != self.rank]
        told = [self._run(self._say(rank, None, why)) for rank in others]
        self._wait(told)

    def close(self) -> None:
        """Say goodbye, and leave nothing on the worker."""
        self._worker.handlers.pop(self._name, None)
        self._wait([self._run(self._leave(rank)) for rank in list(self._comms)])

    async def _say(self, to: int, head: Any, body: Any) -> None:
        try:
            async with self._turn[to]:
                if to not in self._comms:
                    args = self._worker.connection_args
                    self._comms[to] = await connect(self._addresses[to], **args)
                # A worker where the fit is over takes each message for itself, and drops it.
                what = {"op": self._name, "reply": False, "rank": self.rank}
                await self._comms[to].write(what | {"head": head, "body": body})
        except OSError as error:
            self._inbox.end(f"rank {to} at {self._addresses[to]} cannot be reached ({error})")

    async def _leave(self, to: int) -> None:
        await self._say(to, None, None)
        await self._comms[to].close()

    def _run(self, what: Coroutine[Any, Any, None]) -> Any:
        return asyncio.run_coroutine_threadsafe(what, self._worker.loop.asyncio_loop)

    def _wait(self, said: Sequence[Any]) -> None:
        deadline = time.monotonic() + GRACE
        for each in said:
            try:
                each.result(max(0.0, deadline - time.monotonic()))
            except Exception:  # who cannot be told has left already
                each.cancel()


def run_here(
    *parts: Any, task: Task, name: str, rank: int, addresses: Sequence[str], timeout: float
) -> Any:
    """What one rank does on its worker; only the first one has a result."""
    secede()  # whoever waits for others must not keep a thread from them
    worker = get_worker()
    if name not in worker.handlers:
        raise ClusterError("the fit is over, and its task was started once more")
    link = DaskLink(rank, addresses, worker, name)
    try:
        found = run_rank(Ranks(link, timeout), task, parts)
    finally:
        link.close()
    return found if rank == 0 else None


def run_on_workers(client: Client, parts: Sequence[Any], task: Task, timeout: float) -> Any:
    """What the first rank finds; a rank has the parts that its worker has computed."""
    if client.asynchronous:
        raise ValueError("client=: an asynchronous client cannot wait for a model; use another")
    name = f"gputree-{uuid4().hex}"
    held: dict[str, list[Future]] = {}
    tasks: list[Future] = []
    try:
        held |= _on_workers(client, parts)
        addresses = sorted(held)
        client.run(_open, name, workers=addresses)
        run = partial(run_here, task=task, name=name, addresses=addresses, timeout=timeout)
        where = {"allow_other_workers": False, "pure": False, "retries": 0}
        for rank, address in enumerate(addresses):
            own, key = partial(run, rank=rank), f"{name}-{rank}"
            tasks.append(client.submit(own, *held[address], key=key, workers=[address], **where))
        _watch(client, tasks, addresses)
        return tasks[0].result()
    except CommClosedError as error:
        raise ClusterError(f"{LEFT} ({error})") from error
    finally:
        left = [address for address in held if address in client.nthreads()]
        client.run(_close, name, workers=left, on_error="ignore")
        client.cancel(tasks)
        held.clear()  # an error that is kept would keep the parts on the workers


def _on_workers(client: Client, parts: Sequence[Any]) -> dict[str, list[Future]]:
    """The parts as each worker has them: computed, or sent there if they are tables."""
    here = [tuple(part) for part in parts if not any(map(_is_lazy, part))]
    lazy = [delayed(tuple)(list(part)) for part in parts if any(map(_is_lazy, part))]
    futures = client.compute(lazy) + (client.scatter(here, hash=False) if here else [])
    wait(futures)
    held: dict[str, list[Future]] = {}
    for future in futures:
        if future.status != "finished":
            future.result()
    holders = client.who_has(futures)
    for future in futures:
        if not holders[future.key]:
            raise ClusterError(LEFT)
        chosen = min(holders[future.key], key=lambda address: (len(held.get(address, ())), address))
        held.setdefault(chosen, []).append(future)
    return held


def partitions(collection: Any) -> list[Any]:
    """The lazy parts of a collection, in order."""
    if not is_dask_collection(collection):
        raise TypeError(f"{type(collection).__name__} is no collection of Dask; give parts to fit")
    if getattr(collection, "chunks", None) is not None and collection.ndim == 2:
        collection = collection.rechunk({1: -1})
    found = collection.to_delayed()
    return list(found.ravel() if hasattr(found, "ravel") else found)


def alike(collection: Any, X: Any, name: str) -> Any:
    """A collection in partitions like those of X, where both tell where theirs end."""
    if collection is X:
        return X
    if not is_dask_collection(collection):
        raise TypeError(
            f"{name} is a {type(collection).__name__} in memory, and X a collection of Dask; give "
            f"{name} as one, too: a column of X's frame, or dask.array.from_array"
        )
    ends, own = (getattr(each, "chunks", ((np.nan,),))[0] for each in (X, collection))
    if sum(ends) == sum(own) and ends != own:  # neither holds where lengths are not known
        return collection.rechunk({0: ends})
    if getattr(X, "known_divisions", False) and getattr(collection, "known_divisions", False):
        return collection.repartition(divisions=X.divisions)
    return collection


def _is_lazy(table: Any) -> bool:
    return is_dask_collection(table) or isinstance(table, Future)


def _watch(client: Client, tasks: Sequence[Future], addresses: Sequence[str]) -> None:
    """Wait until all ranks are done; raise the error of the first one that is not."""
    looked, gone, deadline = time.monotonic(), list[str](), float("inf")
    while any(task.status == "pending" for task in tasks) and time.monotonic() < deadline:
        time.sleep(POLL)
        has_failed = any(task.status not in ("pending", "finished") for task in tasks)
        if has_failed and deadline == float("inf"):
            deadline = time.monotonic() + GRACE  # others may be about to say more
        if has_failed or time.monotonic() - looked > LOOK:
            there, looked = client.nthreads(), time.monotonic()
            gone = [address for address in addresses if address not in there]
            if gone:
                break
    errors = [task.exception() for task in tasks if task.status == "error"]
    if own := [error for error in errors if not isinstance(error, ClusterError)]:
        raise own[0]
    if gone:
        raise ClusterError(
            f"{len(gone)} of {len(addresses)} workers left in the middle of a fit: "
            f"{', '.join(gone)}; fit again on those that are left"
        )
    if errors or not all(task.status == "finished" for task in tasks):
        raise errors[0] if errors else ClusterError("the tasks of a fit were cancelled")


def _open(name: str, dask_worker: Worker) -> None:
    dask_worker.handlers[name] = Desk().meet


def _close(name: str, dask_worker: Worker) -> None:
    """Wake a rank that still waits."""
    meet = dask_worker.handlers.pop(name, None)
    if meet is not None:
        meet.__self__.inbox.end("the fit was ended by its client")
