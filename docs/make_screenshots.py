"""The pictures of reports on the site, taken in a browser, and what opening one costs.

    python docs/make_screenshots.py adult.parquet

Needs `pip install ".[browser-test]"`, a Chromium on the machine, and the table "adult" of the UCI
repository (48,842 rows, its answers in the last column) as a file that gputree reads. A report of
a tree on a quarter of the rows is opened several times: its size, the median of the milliseconds
until it can be used, and what it wrote to the console are printed.
"""

import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from gputree import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.files import read_file

IMAGES = Path(__file__).parent / "images"
N_LOADS = 7
VIEW = "gputreeReport.explorer.view"


def adult(path: str, folder: Path) -> tuple[Path, Any]:
    """The report of a tree, and a row of the table with a missing value."""
    table = read_file(path).to_pandas()
    X, y = table.iloc[:, :-1], table.iloc[:, -1].astype(str)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = DecisionTreeClassifier(max_depth=8).fit(X, y)
    place = folder / "adult.html"
    model.report(X_test, y_test, place, title="Who earns more than 50,000 dollars?")
    is_wanted = X_test["occupation"].isna() & (X_test["relationship"] == "Husband")
    return place, X_test[is_wanted].iloc[[2]]


def diabetes(folder: Path) -> Path:
    """The report of a regression."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    model = DecisionTreeRegressor(max_depth=4, min_samples_leaf=10).fit(X, y)
    place = folder / "diabetes.html"
    model.report(X_test, y_test, place, title="Progress of diabetes")
    return place


def opened(browser: Browser, path: Path, trouble: list[str], scheme: Any = "light") -> Page:
    """A page that is ready, and what it complains of."""
    context = browser.new_context(
        viewport={"width": 1360, "height": 1000},
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.on("console", lambda said: trouble.append(said.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    return page


def milliseconds(browser: Browser, path: Path, trouble: list[str]) -> float:
    """From the start of the navigation to the first picture of the tree."""
    page = opened(browser, path, trouble)
    while not page.evaluate(f"Boolean({VIEW}.painted)"):
        page.wait_for_timeout(1)
    spent: float = page.evaluate("performance.now()")
    page.context.close()
    return spent


def shot(page: Page, name: str) -> None:
    """A picture of what is in sight."""
    page.wait_for_timeout(300)
    page.screenshot(path=IMAGES / f"{name}.png")


def of_adult(browser: Browser, path: Path, row: Any, trouble: list[str]) -> None:
    """The top, a row on its way, and curves in dark colours."""
    page = opened(browser, path, trouble)
    shot(page, "report-light")
    page.click("#tab-row")
    page.fill("#row-text", row.to_csv(index=False))
    page.click("#row-follow")
    page.evaluate("document.getElementById('tree').scrollIntoView()")
    shot(page, "report-tree")
    page = opened(browser, path, trouble, "dark")
    page.evaluate("document.getElementById('classes').scrollIntoView()")
    shot(page, "report-dark")


def of_diabetes(browser: Browser, path: Path, trouble: list[str]) -> None:
    """Predictions and residuals."""
    page = opened(browser, path, trouble)
    page.evaluate("document.getElementById('numbers').scrollIntoView()")
    shot(page, "report-regression")


def main() -> None:
    """Take all pictures."""
    trouble: list[str] = []
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        path, row = adult(sys.argv[1], folder)
        spent = [milliseconds(browser, path, trouble) for _ in range(N_LOADS)]
        of_adult(browser, path, row, trouble)
        of_diabetes(browser, diabetes(folder), trouble)
        browser.close()
        print(f"size: {path.stat().st_size:,} bytes")
        print(f"ready: {statistics.median(spent):.0f} ms, at most {max(spent):.0f} ms")
        print(f"console: {trouble or 'nothing'}")


if __name__ == "__main__":
    main()
