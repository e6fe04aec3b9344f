"""Training on a cluster: by processes that MPI has started, or by the workers of a Dask scheduler.

Knows who takes part and what each of them does; must not know how ranks talk. One of them, the
first, looks at the options, prints and writes; the others end without a word.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import click
import numpy as np

from gputree.cli import columns, streamed
from gputree.cli.answers import target_name
from gputree.cli.models import Wanted
from gputree.cli.output import Output, count
from gputree.cli.results import Clock, Result
from gputree.cli.sources import Source
from gputree.cli.tally import Tally, joined
from gputree.errors import ClusterError
from gputree.files.row_groups import RowGroupFile, RowGroups

# How launchers tell a process of how many it is one.
SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_NRANKS")


class Crew(Protocol):
    """Those who train together."""

    is_first: bool
    name: str  # of all of them, in words
    size: int

    def told(self, task: Callable[[], Any]) -> Any:
        """What the first one finds, for all."""
        ...

    def fit(self, estimator: Any, path: Any, **options: Any) -> Any:
        """The model of all rows."""
        ...

    def each(self, task: Callable[[RowGroups], Any], path: Any) -> list[Any]:
        """What all find in their shares of the rows."""
        ...


def n_processes() -> int:
    """How many processes of this command were started together."""
    sizes = [os.environ.get(name, "") for name in SIZES]
    return max((int(size) for size in sizes if size.isdigit()), default=1)


def is_spread(options: dict[str, Any]) -> bool:
    """Whether others take part in a training."""
    return options["cluster"] is not None or n_processes() > 1


@contextmanager
def crew_of(options: dict[str, Any]) -> Iterator[Crew]:
    """Those who take part."""
    if n_processes() > 1:
        if options["cluster"] is not None:
            raise ValueError("--cluster has workers of its own: start one process, without mpiexec")
        yield _processes()
        return
    from gputree.cluster.collections import connected

    with connected(options["cluster"]) as client:
        yield Workers(client)


def _processes() -> Crew:
    try:
        from gputree.cluster.mpi import world
    except ImportError as error:
        if any(os.environ.get(name) == "0" for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK")):
            raise ImportError(
                f"{n_processes()} processes were started together, and mpi4py, by which they talk, "
                "is not installed: pip install 'gputree-ml[mpi]', or start one process"
            ) from error
        raise click.exceptions.Exit(0) from None
    return Processes(world())


class Processes:
    """Processes of MPI, of which this one is one."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self.is_first, self.size = world.Get_rank() == 0, world.Get_size()
        self.name = count(self.size, "process") if self.size == 1 else f"{self.size} processes"

    def told(self, task: Callable[[], Any]) -> Any:
        found = None
        if self.is_first:
            try:
                found = (task(),)
            except BaseException:
                self._world.bcast(None)
                raise
        found = self._world.bcast(found)
        if found is None:
            raise click.exceptions.Exit(0)
        return found[0]

    def fit(self, estimator: Any, path: Any, **options: Any) -> Any:
        from gputree import cluster

        try:
            return cluster.fit(estimator, path, comm=self._world, **options)
        except Exception as error:
            raise self._end(error) from error

    def each(self, task: Callable[[RowGroups], Any], path: Any) -> list[Any]:
        shares = self.told(lambda: RowGroups.of(path).shared_out(self.size))
        found, problem = None, ""
        try:
            found = task(shares[self._world.Get_rank()])
        except Exception as error:
            problem = str(error)
        every = self._world.allgather((found, problem))
        if problems := [problem for _, problem in every if problem]:
            raise self._end(ValueError(problems[0]))
        return [found for found, _ in every]

    def _end(self, error: Exception) -> Exception:
        """The one message of all, or a quiet end."""
        if not self.is_first:
            return click.exceptions.Exit(0)
        return _plain(error)


class Workers:
    """Workers of Dask, whom this process asks."""

    is_first = True

    def __init__(self, client: Any) -> None:
        self._client = client
        self.size = len(client.nthreads())
        if not self.size:
            raise ValueError("--cluster: the scheduler has no workers yet; start some")
        self.name = count(self.size, "worker")

    def told(self, task: Callable[[], Any]) -> Any:
        return task()

    def fit(self, estimator: Any, path: Any, **options: Any) -> Any:
        from gputree import cluster

        try:
            return cluster.fit(estimator, path, client=self._client, **options)
        except ClusterError as error:
            raise _plain(error) from error

    def each(self, task: Callable[[RowGroups], Any], path: Any) -> list[Any]:
        shares = RowGroups.of(path).shared_out(self.size)
        found: list[Any] = self._client.gather(self._client.map(task, shares, pure=False))
        return found


def _plain(error: Exception) -> Exception:
    """An error of a rank without its traceback."""
    if isinstance(error, ClusterError):
        return click.ClickException(str(error).partition("\n")[0])
    return error


@dataclass(frozen=True)
class _Plan:
    """What the first one has found out, and all go by."""

    estimator: Any
    path: str
    target: str
    weight: str | None
    features: list[str]
    task: str
    reason: str


def train_spread(options: dict[str, Any], wish: Wanted, output: Output, crew: Crew) -> Result:
    """A model of rows that others have, and what there is to say of it."""
    clock = Clock()
    with warnings.catch_warnings():
        if not crew.is_first:
            output.is_quiet = True
            warnings.simplefilter("ignore")
        plan = crew.told(partial(_plan, options, wish))
        clock.lap("reading")
        given = {"target": plan.target, "weight": plan.weight, "columns": plan.features}
        with output.waiting(f"training on {crew.name}"):
            model = crew.fit(plan.estimator, plan.path, **given)
        clock.lap("training")
        with output.waiting("scoring"):
            parts = crew.each(partial(_score, model, plan), plan.path)
        if not crew.is_first:
            raise click.exceptions.Exit(0)
        clock.lap("scoring")
    source, told = _seen(options)
    known = streamed.Trained(
        source,
        plan.target,
        told,
        plan.task,
        plan.reason,
        model.fit_report_.n_rows,
        len(plan.features),
        f"read by {crew.name}",
        joined(parts).scored(plan.task),
        model,
    )
    return known.result(clock, output)


def _seen(options: dict[str, Any]) -> tuple[Source, list[columns.Told]]:
    source = streamed.source_for(options, "a cluster")
    target = target_name(source, options["target"])
    return source, streamed.told_of(source, target, options, has_parts=False)


def _plan(options: dict[str, Any], wish: Wanted) -> _Plan:
    """What to train on what; refuses what a cluster cannot."""
    source, told = _seen(options)
    RowGroups.of(source.name)  # refuses other files than Parquet
    target = target_name(source, options["target"])
    kept = streamed.kept_of(source, told)
    task, reason = streamed.task_of(target, _answers(source, target), options["task"])
    estimator = _with_categories(
        wish.make(task), [each.name for each in kept if each.kind != columns.NUMBER]
    )
    features = [each.name for each in kept]
    path = os.path.abspath(source.name)
    return _Plan(estimator, path, target, options["weight"], features, task, reason)


def _answers(source: Source, target: str) -> Any:
    """The distinct numbers of the target; None where it has no numbers."""
    if source.file.kinds[source.file.names.index(target)] != "numeric":
        return None
    found = np.empty(0)
    for batch in source.file.chunks(streamed.CHUNK_BYTES, [target]):
        own = batch.column(0).to_numpy(zero_copy_only=False)
        found = np.unique(np.concatenate([found, own[own == own]]))
    return found


def _with_categories(estimator: Any, names: list[str]) -> Any:
    """The estimator, or the one inside it that reads the table, with columns of categories."""
    if "categorical_features" in estimator.get_params(deep=False):
        return estimator.set_params(categorical_features=names)
    inner = estimator._new_stem().set_params(categorical_features=names)
    return estimator.set_params(estimator=inner)


def _score(model: Any, plan: _Plan, rows: RowGroups) -> Tally:
    """How right a model is about a share of the rows."""
    file = RowGroupFile(rows)
    source = Source(plan.path, "", file.schema.empty_table(), None, file=file)
    return streamed.tally_of(model, source, plan.target, plan.weight, plan.task)
