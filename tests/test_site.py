"""The site: every page is in its menu, and every link inside it leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MENU = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
READ = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
LARGEST_IMAGE = 200_000  # bytes


def listed():
    return re.findall(r"^\s*- (?:[^:\n]+: )?(\S+\.md)$", MENU, re.MULTILINE)


def prose(path):
    """A page without its examples."""
    return CODE.sub("`code`", FENCED.sub("", path.read_text(encoding="utf-8")))


def links(path):
    found = LINK.findall(prose(path))
    return [each for each in found if not re.match(r"[a-z]+:", each)]


def slug(title):
    """The anchor that a title gets."""
    plain = re.sub(r"[^\w\s-]", "", title.replace("`", "")).strip().lower()
    return re.sub(r"[\s]+", "-", plain)


def anchors(path):
    titles = re.findall(r"^#+ (.+)$", FENCED.sub("", path.read_text("utf-8")), re.MULTILINE)
    return {slug(title) for title in titles}


def problems(path, link):
    """What is wrong with a link of a page, or nothing."""
    target, _, anchor = link.partition("#")
    leads_to = path if not target else (path.parent / target).resolve()
    if not leads_to.is_file():
        return f"there is no {target}"
    if DOCS in path.parents and DOCS not in leads_to.parents:
        return f"{target} is outside of the site"
    if anchor and leads_to.suffix == ".md" and anchor not in anchors(leads_to):
        return f"{target} has no title #{anchor}"
    return None


def test_every_entry_of_the_menu_is_a_page_and_every_page_is_in_the_menu():
    assert sorted(listed()) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page):
    found = {link: problems(DOCS / page, link) for link in links(DOCS / page)}
    assert not {link: what for link, what in found.items() if what}


@pytest.mark.parametrize("path", READ, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_of_the_repository_lead_somewhere(path):
    found = {link: problems(path, link) for link in links(path)}
    assert not {link: what for link, what in found.items() if what}


def test_wrong_links_would_be_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A title\n[a](#a-title) [b](#other) [c](no.md) `[d](code.md)`\n")
    assert links(page) == ["#a-title", "#other", "no.md"]
    assert [bool(problems(page, link)) for link in links(page)] == [False, True, True]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_one_title_and_begins_with_it(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", FENCED.sub("", text), re.MULTILINE)) == 1


@pytest.mark.parametrize("page", PAGES)
def test_formulas_are_closed(page):
    """A formula that is left open would swallow the text behind it."""
    text = re.sub(r"\$\$.*?\$\$", "", prose(DOCS / page), flags=re.DOTALL)
    assert "$$" not in text
    assert not [part for part in text.split("\n\n") if part.count("$") % 2]


def test_every_public_name_is_in_the_reference():
    import gputree

    pages = "\n".join(path.read_text("utf-8") for path in (DOCS / "api").glob("*.md"))
    referred = set(re.findall(r"^::: gputree\.(\w+)$", pages, re.MULTILINE))
    assert referred - {"explain", "pruning"} == set(gputree.__all__)


def test_pictures_are_small_and_shown():
    shown = "".join(prose(path) for path in [*READ, *(DOCS / page for page in PAGES)])
    for image in (DOCS / "images").iterdir():
        assert image.stat().st_size < LARGEST_IMAGE
        assert f"images/{image.name})" in shown


def test_included_parts_exist():
    for page in PAGES:
        for file, part in re.findall(r'^--8<-- "([^":]+):(\w+)"', (DOCS / page).read_text(), re.M):
            text = (ROOT / file).read_text(encoding="utf-8")
            assert f"--8<-- [start:{part}]" in text
            assert f"--8<-- [end:{part}]" in text


def test_formulas_become_mathml():
    pytest.importorskip("latex2mathml")
    import runpy

    convert = runpy.run_path(str(DOCS / "site" / "mathml.py"))["on_page_content"]
    inline = r'<span class="arithmatex">\(p &lt; 1\)</span>'
    apart = r'<div class="arithmatex">\[\frac{1}{2}\]</div>'
    found = convert(f"a {inline} b {apart}")
    assert found.startswith("a <math")
    assert re.findall(r'display="(\w+)"', found) == ["inline", "block"]
    assert "&#x0003C;" in found  # less than
    assert "arithmatex" not in found
