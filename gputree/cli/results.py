"""What a training leaves: a model, and a report as a page or as text. No other file is replaced.

Knows places and formats; must not know how a model was made.
"""

from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from gputree.cli.models import PAGELESS
from gputree.cli.output import Output, check_own, check_place, encoded, is_one_file, writing
from gputree.cli.scoring import Rows

PAGES = (".html", ".htm")


@dataclass
class Clock:
    """The seconds of each step."""

    seconds: dict[str, float] = field(default_factory=dict)
    _last: float = field(default_factory=perf_counter)

    def lap(self, name: str) -> None:
        """End a step."""
        now = perf_counter()
        self.seconds[name], self._last = now - self._last, now

    def text(self) -> str:
        """The steps in words."""
        return ", ".join(f"{name} {seconds:.2f}" for name, seconds in self.seconds.items())


@dataclass(frozen=True, eq=False)
class Result:
    """One training."""

    model: Any
    text: str  # what is printed, and saved as text
    data: dict[str, Any]  # the same for machines
    seconds: Clock
    rows: Rows | None = None  # which a page judges the model by
    title: str = ""


@dataclass(frozen=True)
class Places:
    """Where the results go."""

    model: Path
    report: Path | None

    @property
    def is_page(self) -> bool:
        """Whether the report is a page of HTML."""
        return self.report is not None and self.report.suffix.lower() in PAGES

    def files(self) -> dict[str, str | None]:
        """The files by what they are."""
        report = None if self.report is None else str(self.report)
        return {"model": str(self.model), "report": report}


def places(options: dict[str, Any]) -> Places:
    """Where the model and the report go; neither may replace the table, nor what is not ours."""
    from gputree.cli.sources import path_of, stem_of

    path = path_of(options["table"])
    inputs = [] if path is None else [path]
    model = options["output"] or Path(f"{stem_of(options['table'])}.gputree")
    check_place(model, "--output", *inputs)
    check_own(model, "--output")
    if options["no_report"]:
        if options["report"] is not None:
            raise ValueError("--report and --no-report contradict each other; give one of them")
        return Places(model, None)
    why = _no_page(options)
    report = options["report"] or model.with_suffix(".txt" if why else ".html")
    check_place(report, "--report", *inputs)
    check_own(report, "--report")
    if is_one_file(model, report):
        raise ValueError(f"model and report cannot both be {model}; choose another with --report")
    found = Places(model, report)
    if why and found.is_page:
        raise ValueError(f"--report {report}: {why}; let its name end in .txt")
    return found


def _no_page(options: dict[str, Any]) -> str:
    """Why there cannot be a page of HTML; empty where there can."""
    if options["stream"]:
        return "a page needs rows in memory, which --stream does not hold"
    return PAGELESS.get(options["model"], "")


def save(result: Result, where: Places, output: Output) -> None:
    """All files or none."""
    if where.report is None:
        with writing(where.model):
            result.model.save(where.model)
        return
    from gputree.tree.store import staged

    content = _page(result, output) if where.is_page else encoded(f"{result.text}\n")
    with (
        writing(where.report),
        staged(where.report, content),
        writing(where.model),
    ):
        result.model.save(where.model)


def _page(result: Result, output: Output) -> bytes:
    from gputree.report import make_report

    assert result.rows is not None
    with output.waiting("writing the report"):
        page = make_report(result.model, result.rows.X, result.rows.y, title=result.title)
    return page.html.encode("utf-8")
