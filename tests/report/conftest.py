"""Tables with all that a report has to show, and a browser to open it in."""

import shutil
import time

import numpy as np
import pandas as pd
import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def mixed_table(n_rows, seed, *, new_categories=False):
    """Numbers, ordered and unordered categories, each with missing values."""
    draws = np.random.default_rng(seed)
    shapes = [f"shape {letter}" for letter in "abcdefghijkl"]
    table = pd.DataFrame(
        {
            "age": draws.normal(40, 12, n_rows).round(1),
            "income": draws.lognormal(3, 1, n_rows),
            "colour": draws.choice(["red", "green", "blue", "grey"], n_rows),
            "size": draws.choice(["small", "medium", "large"], n_rows),
            "shape": draws.choice(shapes[: 12 if new_categories else 9], n_rows),
        }
    )
    y = (
        (table["age"] > 45).astype(int)
        + table["colour"].isin(["red", "blue"])
        + (table["shape"] > "shape d")
        + (draws.random(n_rows) < 0.2)
    ) % 3
    for name in table:
        table.loc[draws.random(n_rows) < 0.12, name] = np.nan
    sizes = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
    return table.astype({"size": sizes, "colour": "category", "shape": "category"}), y


@pytest.fixture(scope="session")
def mixed():
    """A table to fit on, and another with categories that the first does not have."""
    return mixed_table(600, 0), mixed_table(300, 1, new_categories=True)


@pytest.fixture(scope="module")  # its event loop must not run on into tests of other things
def chromium():
    """A browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    where = next(filter(None, map(shutil.which, BROWSERS)), None)
    if where is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=where, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens a report; at the end of a test, the page must not have complained or asked anybody."""
    pages, trouble = [], []

    def open_report(report, **options):
        path = tmp_path / "report.html"
        report.save(path)
        settings = {"viewport": {"width": 1360, "height": 900}, "reduced_motion": "reduce"}
        page = chromium.new_context(**settings | options).new_page()
        pages.append(page)
        page.on("console", lambda said: trouble.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda asked: _note(asked.url, path.as_uri(), trouble))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        wait_for(page, "gputreeReport.explorer.view.painted")
        return page

    yield open_report
    for page in pages:
        page.context.close()
    assert not trouble


def wait_for(page, condition):
    """Wait until a condition is true; the page forbids the way that playwright would take."""
    end = time.monotonic() + 10
    while not page.evaluate(f"Boolean({condition})"):
        assert time.monotonic() < end, f"never came true: {condition}"
        time.sleep(0.02)


@pytest.fixture
def until():
    return wait_for


def _note(url, own, trouble):
    if url != own and not url.startswith("data:"):
        trouble.append(f"asked for {url}")
