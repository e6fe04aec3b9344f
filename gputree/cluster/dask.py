"""Ranks on the workers of a Dask cluster.

Each worker that holds parts gets one task, which lasts as long as the fit. The tasks talk through
the comms of their workers, which a worker takes at the address where it takes all others: no port
is opened, and TLS or UCX are as the cluster has them. The client starts the tasks, notices workers
that leave, starts again on those that are left, and fetches the model.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from dask import delayed
from dask.base import is_dask_collection
from distributed import Client, Future, Worker, get_worker, secede, wait
from distributed.comm import connect
from distributed.protocol import to_serialize

from gputree.cluster.comm import Inbox, Message, Ranks, run_rank
from gputree.cluster.rank import check_versions, versions
from gputree.errors import ClusterError, LostRank
from gputree.progress import Progress

POLL = 0.01  # seconds between looks at the state of tasks
LOOK = 1.0  # seconds between looks for workers that have left, and for trees that are done
GRACE = 5.0  # seconds in which ranks tell of an end
RETURN = 30.0  # seconds in which a worker may come back where none is left
LEFT = "a worker left before the fit had begun"

Task = Callable[[Any, Ranks, Sequence[Any]], Any]


@dataclass
class Ended:
    """What a task has come to: a result of the first rank, or the end of a fit by a lost rank."""

    found: Any = None
    lost: str | None = None
    kept: Any = None  # the estimator with the trees that were done


class Desk:
    """Where a worker takes the messages to its rank, and what it knows of the fit."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.n_done = 0  # trees

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
                        why, is_lost = said["body"]
                        self.inbox.end(why, is_lost=is_lost)
                said = await comm.read()
        except OSError:
            if not has_ended:
                self.inbox.end(
                    f"rank {rank} was lost: its worker has left the cluster", is_lost=True
                )

    def note(self, done: Any) -> None:
        """A tree is done."""
        self.n_done = done.number + 1


class DaskLink:
    """Messages go by a comm to each rank, which is opened when there is something to say."""

    def __init__(self, rank: int, addresses: Sequence[str], worker: Worker, name: str) -> None:
        self.rank, self.size, self.where = rank, len(addresses), addresses[rank]
        self._addresses, self._worker, self._name = addresses, worker, name
        self.desk: Desk = worker.handlers[name].__self__
        self._comms: dict[int, Any] = {}
        self._turn = [asyncio.Lock() for _ in addresses]  # one message after another

    def send(self, to: int, message: Message) -> None:
        head, array = message
        self._run(self._say(to, head, to_serialize(array.copy())))

    def receive(self, source: int, deadline: float) -> Message:
        return self.desk.inbox.take(source, deadline)

    def warn(self, why: str, *, is_lost: bool) -> None:
        others = [rank for rank in range(self.size) if rank != self.rank]
        self._wait([self._run(self._say(rank, None, (why, is_lost))) for rank in others])

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
            why = f"rank {to} at {self._addresses[to]} cannot be reached ({error})"
            self.desk.inbox.end(why, is_lost=True)

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
    estimator: Any,
    *parts: Any,
    task: Task,
    name: str,
    rank: int,
    addresses: Sequence[str],
    timeout: float,
) -> Ended:
    """What one rank does on its worker; only the first one has a result."""
    secede()  # whoever waits for others must not keep a thread from them
    worker = get_worker()
    if name not in worker.handlers:
        return Ended(lost="the fit is over, and its task was started once more")
    link = DaskLink(rank, addresses, worker, name)
    comm = Ranks(link, timeout)
    comm.n_threads, comm.on_tree = worker.state.nthreads, link.desk.note
    try:
        found = run_rank(comm, partial(task, estimator), parts)
    except LostRank as error:
        return Ended(lost=str(error), kept=error.kept)
    finally:
        link.close()
    return Ended(found if rank == 0 else None)


def run_on_workers(
    client: Client,
    parts: Sequence[Any],
    task: Task,
    estimator: Any,
    timeout: float,
    max_restarts: int,
) -> tuple[Any, int]:
    """What the first rank finds, and how often the ranks had to start again.

    A rank has the parts that its worker has computed.
    """
    if client.asynchronous:
        raise ValueError("client=: an asynchronous client cannot wait for a model; use another")
    held = Held(client, parts)
    n_restarts = 0
    try:
        while True:
            attempt = _Attempt(client, held, task, timeout)
            try:
                return attempt.run(estimator), n_restarts
            except CancelledError as error:
                raise ClusterError(
                    "rows were on a worker that left, and nobody can compute them again; give lazy "
                    f"parts, or fit while all workers are there ({error})"
                ) from None
            except LostRank as error:
                if n_restarts == max_restarts:
                    raise ClusterError(
                        f"{error}; the fit was started {1 + n_restarts} times, max_restarts="
                        f"{max_restarts}: is there a reason that workers leave, such as memory?"
                    ) from None
                n_restarts += 1
                estimator = estimator if error.kept is None else error.kept
            finally:
                attempt.end()
            try:
                client.wait_for_workers(1, timeout=RETURN)
            except TimeoutError:
                raise ClusterError(
                    f"no worker is left, and none has come back within {RETURN:g} seconds"
                ) from None
    finally:
        held.futures.clear()


class Held:
    """The parts of a table on the workers: computed, or sent there if they are tables."""

    def __init__(self, client: Client, parts: Sequence[Any]) -> None:
        self._client = client
        self._here = [tuple(part) for part in parts if not any(map(_is_lazy, part))]
        lazy = [delayed(tuple)(list(part)) for part in parts if any(map(_is_lazy, part))]
        self.futures: list[Future] = client.compute(lazy)
        self._n_lazy = len(lazy)

    def by_worker(self) -> dict[str, list[Future]]:
        """The parts of each worker; those that have left with one are computed or sent again."""
        del self.futures[self._n_lazy :]  # what was sent is sent again: some of it may be lost
        wait(self.futures)
        for future in self.futures:
            if future.status != "finished":
                future.result()
        with _while_workers_stay():
            if self._here:
                self.futures += self._client.scatter(self._here, hash=False)
            holders = self._client.who_has(self.futures)
        held: dict[str, list[Future]] = {}
        for future in self.futures:
            if not holders[future.key]:
                raise LostRank(LEFT)
            order = sorted(holders[future.key])
            chosen = min(order, key=lambda address: len(held.get(address, ())))
            held.setdefault(chosen, []).append(future)
        return held


class _Attempt:
    """One try to fit on the workers that are there."""

    def __init__(self, client: Client, held: Held, task: Task, timeout: float) -> None:
        self._client, self._held = client, held
        self._name = f"gputree-{uuid4().hex}"
        self._run = partial(run_here, task=task, name=self._name, timeout=timeout)
        self._tasks: list[Future] = []
        self._addresses: list[str] = []

    def run(self, estimator: Any) -> Any:
        """What the first rank finds."""
        held = self._held.by_worker()
        try:
            self._start(held, estimator)
        finally:
            held.clear()  # an error that is kept would keep the parts on the workers
        self._watch(estimator)
        return self._tasks[0].result().found

    def _start(self, held: dict[str, list[Future]], estimator: Any) -> None:
        """Let each worker that holds parts have a rank."""
        client, name = self._client, self._name
        self._addresses = addresses = sorted(held)
        given = estimator
        with _while_workers_stay():
            found = client.run(_open, name, workers=addresses)
            if hasattr(estimator, "_members"):  # many trees do not go through the scheduler
                given = client.scatter(estimator, hash=False)
        check_versions({f"worker {address}": each for address, each in found.items()})
        where = {"allow_other_workers": False, "pure": False, "retries": 0}
        for rank, address in enumerate(addresses):
            own = partial(self._run, rank=rank, addresses=addresses)
            task = {"key": f"{name}-{rank}", "workers": [address], **where}
            self._tasks.append(client.submit(own, given, *held[address], **task))

    def end(self) -> None:
        """Wake ranks that still wait, and leave nothing on the workers."""
        there = self._client.nthreads()
        left = [address for address in self._addresses if address in there]
        if left:
            with suppress(OSError, KeyError):  # one has left since
                self._client.run(_close, self._name, workers=left, on_error="ignore")
        self._client.cancel(self._tasks)
        self._tasks.clear()

    def _watch(self, estimator: Any) -> None:
        """Wait until all ranks are done; raise the error of the first one that is not."""
        tasks, n_trees = self._tasks, getattr(estimator, "n_estimators", 0)
        is_shown = bool(getattr(estimator, "verbose", 0)) and n_trees > 0
        progress = Progress(type(estimator).__name__, n_trees, is_shown=is_shown)
        looked, gone, deadline = time.monotonic(), list[str](), float("inf")
        while any(task.status == "pending" for task in tasks) and time.monotonic() < deadline:
            time.sleep(POLL)
            has_failed = any(task.status not in ("pending", "finished") for task in tasks)
            if (has_failed or gone) and deadline == float("inf"):
                deadline = time.monotonic() + GRACE  # others may be about to say more
            if not gone and (has_failed or time.monotonic() - looked > LOOK):
                there, looked = self._client.nthreads(), time.monotonic()
                gone = [address for address in self._addresses if address not in there]
                if is_shown and not gone:
                    self._show(progress)
        self._judge(gone)
        if is_shown:
            progress.step(n_trees - progress.n_done)
        progress.end()

    def _show(self, progress: Progress) -> None:
        """Tell how many trees the first rank has done."""
        first = self._addresses[:1]
        for n_done in self._client.run(
            _n_done, self._name, workers=first, on_error="ignore"
        ).values():
            if n_done and n_done > progress.n_done:
                progress.step(n_done - progress.n_done)

    def _judge(self, gone: Sequence[str]) -> None:
        """Raise what has ended the fit, if it has no result."""
        errors = [task.exception() for task in self._tasks if task.status == "error"]
        if own := [error for error in errors if not isinstance(error, ClusterError)]:
            raise own[0]
        ended = self._ended()
        lost = [each for each in ended if each.lost is not None]
        if gone or lost:
            error = LostRank(
                f"{len(gone)} of {len(self._addresses)} workers left in the middle of a fit: "
                f"{', '.join(gone)}"
                if gone
                else str(lost[0].lost)
            )
            error.kept = next((each.kept for each in lost if each.kept is not None), None)
            raise error
        if errors:
            raise errors[0]
        if any(task.status == "cancelled" for task in self._tasks):
            raise ClusterError("the tasks of a fit were cancelled")
        if len(ended) < len(self._tasks):
            raise LostRank("a worker left when its part of a fit was done")

    def _ended(self) -> list[Ended]:
        """What the tasks have come to that can be asked."""
        found = []
        for task in self._tasks:
            if task.status == "finished":
                try:
                    found.append(task.result(timeout=GRACE))
                except Exception:  # its worker has left since
                    continue
        return found


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


@contextmanager
def _while_workers_stay() -> Iterator[None]:
    """What Dask says of a worker that leaves while it is asked is a lost rank."""
    try:
        yield
    except (OSError, KeyError) as error:
        raise LostRank(f"{LEFT} ({error!r})") from None


def _is_lazy(table: Any) -> bool:
    return is_dask_collection(table) or isinstance(table, Future)


def _open(name: str, dask_worker: Worker) -> str:
    dask_worker.handlers[name] = Desk().meet
    return versions()


def _n_done(name: str, dask_worker: Worker) -> int | None:
    """How many trees a rank has."""
    meet = dask_worker.handlers.get(name)
    return None if meet is None else meet.__self__.n_done


def _close(name: str, dask_worker: Worker) -> None:
    """Wake a rank that still waits."""
    meet = dask_worker.handlers.pop(name, None)
    if meet is not None:
        meet.__self__.inbox.end("the fit was ended by its client")
