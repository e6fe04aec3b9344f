"""Results as Markdown."""

from collections.abc import Sequence
from pathlib import Path

from figures import (
    UNLIMITED,
    CaseResult,
    Result,
    Results,
    Sweep,
    absent,
    crossings,
    fastest,
    gpu_absent,
    is_ours,
    measured,
    names,
    problems,
    run_cases,
    seconds,
    steepness,
    sweeps,
)

NOTHING = "–"
MIB = 2**20
DISTURBING_SHARE = 0.05  # of the processor, taken by other programs

READING = """\
Seconds are medians of warm rounds, with their range in brackets. *Import* loads the library after
NumPy. *Compile* is the first fit with an empty cache of machine code, *first* the first fit of a
fresh process (for gputree with a filled cache), *fit* a later one. A fit starts from a float32
NumPy array and holds whatever the library does with it. *× peer* is the time of a fit divided by
that of the fastest peer: below 1 is faster than every peer. *Memory* is the peak above the table
and the loaded library during a later fit; *first* includes what a first fit loads. The score is
accuracy or R² on held-out rows. Boosting libraries grow one tree a class where there are more than
two; their leaves are counted together."""


def write(results: Results, plots: Sequence[Path], path: Path) -> None:
    path.write_text(text(results, plots), encoding="utf-8")


def text(results: Results, plots: Sequence[Path] = ()) -> str:
    """The whole report."""
    parts = [
        f"# Benchmark of {results['date']}",
        READING,
        "## Machine",
        machine(results),
        "## Summary",
        summary(results),
        *backends(results),
        *(part for sweep in sweeps(results) for part in sweep_part(sweep, names(results))),
        *(f"![{plot.stem}]({plot.name})" for plot in plots),
        "## Cases",
        *(part for case in results["cases"] for part in case_part(case)),
    ]
    return "\n\n".join(parts) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table: names to the left, figures to the right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


# Figures


def figure(second: float | None) -> str:
    """Seconds with three digits."""
    if second is None:
        return NOTHING
    return (
        f"{second:.0f}"
        if second >= 100
        else f"{second:#.3g}"
        if second >= 1e-3
        else f"{second:.1e}"
    )


def ratio(one: float | None, other: float | None) -> str:
    return NOTHING if one is None or not other else f"{one / other:.2f}"


def mebibytes(result: Result, name: str) -> str:
    return f"{result[name] / MIB:,.0f}" if name in result else NOTHING


def with_range(result: Result, verb: str) -> str:
    times = result["seconds"].get(verb)
    if times is None:
        return NOTHING
    return f"{figure(times['median'])} ({figure(times['min'])}–{figure(times['max'])})"


# Parts


def machine(results: Results) -> str:
    about = results["machine"]
    gpus = ", ".join(about["gpus"]) or "none seen by a driver"
    versions = ", ".join(f"{name} {each or 'absent'}" for name, each in about["libraries"].items())
    options = results["options"]
    lines = [
        f"processor: {about['processor']}, {about['available_cores']} of {about['cores']} cores",
        f"memory: {about['memory_gib']} GiB; GPUs: {gpus}",
        f"system: {about['system']}, Python {about['python']}",
        f"libraries: {versions}",
        f"run: suite {options['suite']}, {options['repeats']} warm rounds, {options['threads']} "
        f"threads; load when it began: {about['load_at_start']}",
    ]
    return "\n".join(f"- {line}" for line in lines)


def summary(results: Results) -> str:
    """One line a case: our fastest backend beside the fastest peer, and whether models agree."""
    rows = []
    for case in run_cases(results):
        ours, peer = fastest(case, "fit", peer=False), fastest(case, "fit", peer=True)
        our_predict, peer_predict = (fastest(case, "predict", peer=each) for each in (False, True))
        rows.append(
            [
                case["name"],
                *_named(ours),
                *_named(peer),
                ratio(ours and ours[1], peer and peer[1]),
                ratio(our_predict and our_predict[1], peer_predict and peer_predict[1]),
                _scores(case, ours, peer),
                agreement(case),
            ]
        )
    header = ["case", "gputree", "s", "fastest peer", "s", "× peer", "predict × peer", "scores"]
    parts = [table([*header, "same bytes"], rows)]
    parts += [f"**{problem}**" for problem in problems(results)]
    disturbed = [case["name"] for case in run_cases(results) if disturbance(case)]
    if disturbed:
        parts.append(f"**Disturbed by other programs**, see there: {', '.join(disturbed)}")
    parts += [f"{case['name']}: skipped: {case['skipped']}" for case in _skipped(results)]
    return "\n\n".join(parts)


def _named(found: tuple[str, float] | None) -> tuple[str, str]:
    return (found[0], figure(found[1])) if found else (NOTHING, NOTHING)


def _scores(case: CaseResult, *pairs: tuple[str, float] | None) -> str:
    """The scores of two contestants."""
    scores = [case["contestants"][pair[0]].get("score") if pair else None for pair in pairs]
    return " / ".join(NOTHING if score is None else f"{score:.4f}" for score in scores)


def _skipped(results: Results) -> list[CaseResult]:
    return [case for case in results["cases"] if "skipped" in case]


def agreement(case: CaseResult) -> str:
    return {True: "yes", False: "**NO**", None: NOTHING}[case["bytes"]["equal"]]


def backends(results: Results) -> list[str]:
    """From how many rows a GPU is faster; nothing where none was measured."""
    lines = []
    for gpu, cpu, most, size in crossings(results):
        if size is None:
            lines.append(f"- {gpu} is not faster than {cpu} up to {most:,} rows")
        else:
            lines.append(f"- {gpu} is faster than {cpu} from about {size:,.0f} rows")
    lines += [
        f"- {name} was not measured: {reason}" for name, reason in gpu_absent(results).items()
    ]
    return ["## Where the GPU is faster", "\n".join(lines)] if lines else []


def sweep_part(sweep: Sweep, everyone: Sequence[str]) -> list[str]:
    """Seconds of each contestant against one number."""
    is_rows = sweep.axis == "rows"
    header = [sweep.axis, *(value_text(value) for value in sweep.cases)]
    rows = []
    for name in everyone:
        curve = sweep.curve(name)
        if not curve:
            continue
        by_value = dict(curve)
        cells = [name, *(figure(by_value.get(float(value))) for value in sweep.cases)]
        grows = steepness(curve) if is_rows else None
        rows.append([*cells, NOTHING if grows is None else f"{grows:.2f}"] if is_rows else cells)
    ratios = _ratios(sweep)
    if set(ratios) != {NOTHING}:
        rows.append(["gputree × fastest peer", *ratios, *([""] if is_rows else [])])
    title = f"## Seconds of a fit by {sweep.axis} ({sweep.title})"
    return [title, table([*header, "slope"] if is_rows else header, rows)]


def value_text(value: int) -> str:
    return "unlimited" if value == UNLIMITED else f"{value:,}"


def _ratios(sweep: Sweep) -> list[str]:
    cells = []
    for case in sweep.cases.values():
        ours, peer = fastest(case, "fit", peer=False), fastest(case, "fit", peer=True)
        cells.append(ratio(ours and ours[1], peer and peer[1]))
    return cells


def case_part(case: CaseResult) -> list[str]:
    """Everything about one case."""
    if "skipped" in case:
        return [f"### {case['name']}", f"Skipped: {case['skipped']}."]
    target = f"{case['classes']} classes" if case["classes"] else "regression"
    depth = f"depth {case['depth']}" if case["depth"] else "unlimited depth"
    about = (
        f"{case['rows']:,} rows × {case['features']:,} features, {target}, {depth}; "
        f"{case['test_rows']:,} rows to predict; same model bytes: {agreement(case)}"
    )
    if case["bytes"]["compared"]:
        about += f" ({', '.join(case['bytes']['compared'])})"
    parts = [f"### {case['name']}", f"{about}.", *disturbance(case), contest(case)]
    notes = [f"- {name}: {each['note']}" for name, each in measured(case).items() if "note" in each]
    notes += [f"- {name} {each['status']}: {each['reason']}" for name, each in absent(case).items()]
    return [*parts, "\n".join(notes)] if notes else parts


def disturbance(case: CaseResult) -> list[str]:
    """A warning, where the machine was not the suite's own."""
    share = case["others_share"]
    if share is None or share < DISTURBING_SHARE:
        return []
    return [f"**Disturbed**: other programs took {share:.0%} of the processor meanwhile."]


def contest(case: CaseResult) -> str:
    """The table of a case, fastest first."""
    peer = fastest(case, "fit", peer=True)
    rows = []
    for name, each in sorted(case["contestants"].items(), key=_by_seconds):
        if "first" not in each["seconds"]:
            continue
        score, leaves = each.get("score"), each.get("leaves")
        rows.append(
            [
                f"**{name}**" if is_ours(each) else name,
                str(each["threads"]),
                figure(seconds(each, "import")),
                figure(each.get("compile")),
                figure(seconds(each, "first")),
                with_range(each, "fit"),
                ratio(seconds(each, "fit"), peer and peer[1]),
                figure(seconds(each, "predict")),
                mebibytes(each, "bytes"),
                mebibytes(each, "first_bytes"),
                NOTHING if score is None else f"{score:.4f}",
                NOTHING if leaves is None else f"{leaves:,}",
            ]
        )
    header = ["contestant", "threads", "import s", "compile s", "first s", "fit s", "× peer"]
    more = ["predict s", "memory MiB", "first MiB", "score", "leaves"]
    return table([*header, *more], rows)


def _by_seconds(item: tuple[str, Result]) -> float:
    second = seconds(item[1], "fit")
    return float("inf") if second is None else second
