"""Ranks that are threads of one process."""

from collections.abc import Callable, Sequence
from threading import Thread
from typing import TypeVar

from gputree.cluster.comm import LONGEST_WAIT, Inbox, Message, Ranks, run_rank
from gputree.comm import Comm
from gputree.errors import ClusterError

Result = TypeVar("Result")


class ThreadLink:
    """Messages are put where the other thread looks for them."""

    def __init__(self, rank: int, inboxes: Sequence[Inbox]) -> None:
        self.rank, self.size, self.where = rank, len(inboxes), f"thread {rank}"
        self._inboxes = inboxes

    def send(self, to: int, message: Message) -> None:
        head, array = message
        self._inboxes[to].put(self.rank, (head, array.copy()))

    def receive(self, source: int, deadline: float) -> Message:
        return self._inboxes[self.rank].take(source, deadline)

    def warn(self, why: str, *, is_lost: bool) -> None:
        for inbox in self._inboxes:
            inbox.end(why, is_lost=is_lost)


def run_ranks(
    tasks: Sequence[Callable[[Comm], Result]], timeout: float = LONGEST_WAIT
) -> list[Result]:
    """What each rank finds, all of them at the same time; the error of the first one that fails."""
    inboxes = [Inbox() for _ in tasks]
    results: dict[int, Result] = {}
    errors: list[BaseException] = []

    def run(rank: int, task: Callable[[Comm], Result]) -> None:
        try:
            results[rank] = run_rank(Ranks(ThreadLink(rank, inboxes), timeout), task)
        except BaseException as error:
            errors.append(error)

    threads = [
        Thread(target=run, args=each, name=f"gputree rank {each[0]}", daemon=True)
        for each in enumerate(tasks)
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            # One that is stuck outside of a wait cannot be ended; the others have ended then.
            while thread.is_alive() and not errors:
                thread.join(0.1)
            thread.join(1.0)
    except BaseException as error:
        for inbox in inboxes:
            inbox.end(f"the fit was interrupted ({type(error).__name__})")
        raise
    if errors:
        own = [error for error in errors if not isinstance(error, ClusterError)]
        raise (own or errors)[0]
    return [results[rank] for rank in range(len(tasks))]
