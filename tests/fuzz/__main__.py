"""One case, or many: what is wrong, and the shortest case that is wrong in the same way.

python -m tests.fuzz 1234                  # the case of a number
python -m tests.fuzz some.json             # a case that is kept
python -m tests.fuzz --from 0 --to 2000    # a search; prints finds as they come
python -m tests.fuzz --files --to 2000     # the same among mutated model files

A search that is stopped says how far it came.
"""

import argparse
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

from tests.fuzz import cases, draws, pool, ways


def shorter(case):
    """Cases with a little less."""
    n_rows, n_columns = case.n_rows, len(case.columns)
    for size in sorted({n_rows // 2, n_rows // 4, 1} - {0}, reverse=True):
        for begin in range(0, n_rows, size):
            kept = [row for row in range(n_rows) if not begin <= row < begin + size]
            if kept:
                yield case.take(kept)
    for place in range(n_columns if n_columns > 1 else 0):
        columns = case.columns[:place] + case.columns[place + 1 :]
        categorical = [at - (at > place) for at in case.categorical if at != place]
        params = dict(case.params)
        if "monotonic_cst" in params:
            ways = params["monotonic_cst"]
            params["monotonic_cst"] = ways[:place] + ways[place + 1 :]
        yield replace(case, columns=columns, categorical=categorical, params=params)
    for name in case.params:
        if name not in ("estimator", "tree", "n_estimators", "random_state"):
            yield replace(case, params={k: v for k, v in case.params.items() if k != name})
    if case.params.get("n_estimators", 1) > 1:
        yield replace(case, params={**case.params, "n_estimators": 1})
    if case.weight is not None:
        yield replace(case, weight=None)


def shrunk(case, name):
    """The shortest case that one way complains of."""
    chosen = [way for way in ways.WAYS if way.__name__ == name]
    end = time.monotonic() + 60
    is_shorter = True
    while is_shorter and time.monotonic() < end:
        is_shorter = False
        for less in shorter(case):
            if name in ways.problems(less, chosen)[0]:
                case, is_shorter = less, True
                break
    return case


def show(case):
    """Print what is wrong with a case."""
    said, tried = ways.problems(case)
    print(f"{tried} ways, {len(said)} of them differ")
    for name, text in said.items():
        print(f"{name}: {text}")
    for name in list(said)[:1]:
        less = shrunk(case, name)
        print(f"\nthe shortest case with {name}: {ways.problems(less)[0]}\n{less.to_text()}")


def search(first, last):
    """Try the cases of many numbers."""
    n_cases = n_tried = n_found = 0
    for seed in until_stopped(range(first, last)):
        case = draws.draw(seed)
        said, tried = ways.problems(case, ways.drawn_ways(seed))
        n_cases, n_tried, n_found = n_cases + 1, n_tried + tried, n_found + bool(said)
        if said:
            print(f"{seed} {case.estimator} {case.n_rows} rows: {said}", flush=True)
    print(
        f"{n_cases} tables from {first} on, {n_tried} comparisons, "
        f"{n_found} tables with a difference"
    )


def search_files(first, last):
    """Try the mutated model files of many numbers."""
    found = pool.Found()
    for how in until_stopped(pool.each_of(first, last - first, found)):
        if how:
            print(how, flush=True)
    print(f"{found.counts.total()} mutated model files from {first} on: {dict(found.counts)}")


def until_stopped(steps):
    """The steps until the process is asked to end; not within one, where a fit might catch that."""
    asked = []
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: asked.append(True))
    for step in steps:
        yield step
        if asked:
            break


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="?")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--to", dest="last", type=int, default=0)
    parser.add_argument("--files", action="store_true")
    asked = parser.parse_args()
    if asked.files:
        search_files(asked.first, asked.last)
    elif asked.case is None:
        search(asked.first, asked.last)
    elif asked.case.isdigit():
        show(draws.draw(int(asked.case)))
    else:
        show(cases.from_text(Path(asked.case).read_text()))


if __name__ == "__main__":
    main()
