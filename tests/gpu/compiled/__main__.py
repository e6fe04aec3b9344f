"""The command; see the package."""

import argparse
import json
import os
from pathlib import Path

os.environ["NUMBA_ENABLE_CUDASIM"] = "0"  # a simulated kernel is not compiled

from tests.gpu.compiled import budget, cases, facts, page, toolchain


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.compiled")
    parser.add_argument("--write", action="store_true", help="make budget and table anew")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that is found")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="compile ahead of time to here")
    options = parser.parse_args()
    absent = toolchain.missing()
    if absent:
        parser.error(f"{' and '.join(absent)} not found; pip install -e '.[compile]'")
    all_cases = cases.all_cases()
    if options.keep:
        print(f"{toolchain.keep_all(all_cases, options.keep)} files in {options.keep}")
        return
    texts = toolchain.compile_all(all_cases)
    found = facts.gather(texts, toolchain.assemble_all(texts))
    if options.json:
        options.json.write_text(json.dumps(found))
    made = budget.of(all_cases, found)
    if options.write:
        budget.write(made)
        page.write(made)
    print(page.table(made))


main()
