"""The page in a browser: clicks, keys, searches, rows on their way, and colours.

Every test also fails if the page writes to the console or asks for anything; see `opened`.
"""

import json

import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

from gputree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
)

VIEW = "gputreeReport.explorer.view"


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
    return DecisionTreeClassifier().fit(X[::2], names[::2]), X[1::2], names[1::2]


def state(page):
    """What the tree shows."""
    return page.evaluate(
        f"(() => {{ const v = {VIEW}; return {{shown: v.shown, selected: v.selected, "
        "scale: v.scale, left: v.left, top: v.top, lit: v.lit && [...v.lit.keys()], "
        "found: [...v.found]}; })()"
    )


def click_node(page, node, n_clicks=1):
    page.evaluate("document.getElementById('tree').scrollIntoView()")
    place = page.evaluate(f"{VIEW}.place({node})")
    box = page.locator("#tree-sheet").bounding_box()
    page.mouse.click(box["x"] + place["x"], box["y"] + place["y"], click_count=n_clicks)


def test_all_sections_are_there_and_listed(iris, opened):
    tree, X, y = iris
    page = opened(tree.report(X, y))
    names = ["Scores", "Tree", "Classes", "Importances", "Data", "Pruning", "Training"]
    assert page.locator("#contents li a").all_inner_texts() == names
    assert page.locator("main h2").all_inner_texts() == names
    assert page.locator("h1").inner_text() == "DecisionTreeClassifier report"
    alternatives = page.locator("svg[role=img]").evaluate_all(
        "all => all.map(each => each.getAttribute('aria-label'))"
    )
    assert len(alternatives) > 6
    assert all(alternatives)


def test_scores_have_as_many_digits_each(opened):
    X, y = pd.DataFrame({"x": range(100)}), ["no"] * 50 + ["yes"] * 50
    wrong = y[20:] + y[:20]  # 60 of 100 rows are right
    page = opened(DecisionTreeClassifier().fit(X, y).report(X, wrong))
    assert page.locator(".score .value").first.inner_text() == "0.6000"
    assert page.locator("#classes td.num").first.inner_text() == "0.600"


def test_a_node_tells_its_class_even_where_it_has_many_rows(opened):
    X = pd.DataFrame({"x": range(40_000)})
    y = ["<=50K"] * 30_000 + [">50K"] * 10_000
    page = opened(DecisionTreeClassifier().fit(X, y).report(X[::50], y[::50]))
    drawn = page.evaluate(
        "(() => { const all = [], pen = CanvasRenderingContext2D.prototype, draw = pen.fillText;"
        "pen.fillText = function (...what) { all.push(what[0]); draw.apply(this, what); };"
        f"{VIEW}.paint(); pen.fillText = draw; return all; }})()"
    )
    assert "40,000 · 75\u00a0% <=50K" in drawn


def test_a_click_on_the_contents_goes_there(iris, opened, until):
    tree, X, y = iris
    page = opened(tree.report(X, y))
    page.click("#contents >> text=Pruning")
    until(page, "document.activeElement.id === 'pruning' && scrollY > 500")


def test_a_click_shows_the_rule_of_a_node(iris, opened):
    tree, X, y = iris
    page = opened(tree.report(X, y))
    click_node(page, 2)
    assert state(page)["selected"] == 2
    rule = page.locator("#node-rule").inner_text()
    limit = tree.nodes_.threshold[0]
    assert rule.startswith(f"If petal length (cm) is above {limit:.6g}, then the prediction is v")
    assert page.locator("#tree-panel h3").inner_text().startswith("Node 2: petal")
    assert page.locator("#tree-panel .bars .label").count() == 3
    assert page.locator("#tree-panel svg.plot rect").count() > 5  # the histogram


def test_a_rule_names_each_column_once(mixed, opened):
    """Bounds of one column come together, and categories that are left are named."""
    (X, y), _ = mixed
    tree = DecisionTreeClassifier(missing="category").fit(X, y)
    page = opened(tree.report(X, y))
    deepest = int(tree.tree_.depth.argmax())
    words = page.evaluate(
        "node => gputreeReport.sentenceText(gputreeReport.explorer.current(), node)", deepest
    )
    conditions = words.removeprefix("If ").split(", then ")[0]
    for name in X.columns:
        assert conditions.count(f"{name} is") <= 1
    assert words.endswith(".")


def test_nodes_open_and_close(iris, opened):
    tree, X, y = iris
    page = opened(tree.report(X, y))
    before = state(page)["shown"]
    assert before == tree.tree_.n_nodes
    click_node(page, 2, n_clicks=2)
    assert state(page)["shown"] == 3
    page.click("#tree-panel >> text=Open")
    assert state(page)["shown"] == before
    page.select_option("select[aria-label^=Open]", "1")
    assert state(page)["shown"] == 3


def test_the_tree_can_be_dragged_and_zoomed(iris, opened, until):
    tree, X, y = iris
    page = opened(tree.report(X, y))
    page.evaluate("document.getElementById('tree').scrollIntoView()")
    box = page.locator("#tree-sheet").bounding_box()
    before = state(page)
    page.mouse.move(box["x"] + 15, box["y"] + 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 95, box["y"] + 340, steps=4)
    page.mouse.up()
    after = state(page)
    assert after["left"] - before["left"] == pytest.approx(80, abs=5)
    assert after["top"] - before["top"] == pytest.approx(40, abs=5)
    page.mouse.wheel(0, -300)  # the tree has the focus now
    until(page, f"{VIEW}.scale > {after['scale']}")
    page.click("button[aria-label='Zoom out']")
    page.click("button[aria-label='Show the whole tree']")
    assert state(page)["scale"] == pytest.approx(before["scale"], rel=0.3)


def test_a_page_that_scrolls_over_the_tree_goes_on_scrolling(iris, opened, until):
    tree, X, y = iris
    page = opened(tree.report(X, y))
    box = page.locator("#tree-sheet").bounding_box()
    before = state(page)["scale"]
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    page.mouse.wheel(0, 200)
    until(page, "scrollY > 0")
    assert state(page)["scale"] == before


def test_a_search_finds_columns_rules_classes_and_numbers(iris, opened):
    model, X, y = iris
    tree = model.nodes_
    page = opened(model.report(X, y))
    is_virginica = tree.is_leaf & (tree.value.argmax(axis=1) == 2)
    for query, expected in {
        "node 4": [4],
        "#2": [2],
        "petal length (cm) <=": tree.first_child[tree.feature == 2].tolist(),
        "Virginica": is_virginica.nonzero()[0].tolist(),
    }.items():
        page.fill("input[type=search]", query)
        found = state(page)["found"]
        assert sorted(found) == sorted(expected)
        page.press("input[type=search]", "Enter")
        assert state(page)["selected"] == found[0]
        assert page.locator(".matches").inner_text() == f"1 of {len(found)}"
    page.fill("input[type=search]", "no such thing")
    assert page.locator(".matches").inner_text() == "0 matches"


def test_keys_walk_through_the_tree(iris, opened):
    model, X, y = iris
    first = model.tree_.first_child
    page = opened(model.report(X, y))
    page.focus("#tree-sheet")
    sight = []
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        sight.append(state(page)["selected"])
    assert sight == [1, 2, first[2], 2, 1, 0]
    assert "splits on petal" in page.locator("#tree-node").inner_text()
    assert page.get_attribute("#tree-node", "aria-expanded") == "true"
    page.keyboard.press("Enter")
    assert state(page)["shown"] == 1
    assert page.get_attribute("#tree-node", "aria-expanded") == "false"
    page.keyboard.press("Enter")
    before = state(page)["scale"]
    page.keyboard.press("+")
    assert state(page)["scale"] > before
    page.keyboard.press("0")
    assert state(page)["scale"] == pytest.approx(before)


def test_all_tools_can_be_reached_by_tab(iris, opened):
    tree, X, y = iris
    page = opened(tree.report(X, y))
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "(e => e.id || e.getAttribute('aria-label') || e.textContent)"
                "(document.activeElement)"
            )
        )
    expected = ["Skip to the content", "Scores", "Auto", "Search the tree", "Zoom in", "tree-sheet"]
    positions = [seen.index(name) for name in [*expected, "tab-node", "tree-panel"]]
    assert positions == sorted(positions)


PASTED = {
    "CSV with names": lambda row: row.to_frame().T.to_csv(index=False),
    "CSV with an index": lambda row: row.to_frame().T.to_csv(),
    "CSV without names": lambda row: row.to_frame().T.to_csv(index=False, header=False),
    "semicolons": lambda row: row.to_frame().T.to_csv(index=False, sep=";"),
    "JSON": lambda row: row.to_json(),
    "JSON of a table": lambda row: row.to_frame().T.to_json(),
    "JSON of records": lambda row: row.to_frame().T.to_json(orient="records"),
    "a JSON list": lambda row: json.dumps(row.tolist()),
}


def test_a_pasted_row_lights_its_path(iris, opened):
    tree, X, y = iris
    page = opened(tree.report(X, y))
    page.click("#tab-row")
    for at, write in zip(range(0, 72, 9), PASTED.values(), strict=True):
        page.fill("#row-text", write(X.iloc[at]))
        page.click("#row-follow")
        path = tree.decision_path(X.iloc[[at]]).indices.tolist()
        assert sorted(state(page)["lit"]) == sorted(path)
        assert page.get_attribute("#explorer", "data-leaf") == str(tree.apply(X.iloc[[at]])[0])
        assert tree.predict(X.iloc[[at]])[0] in page.locator("#row-result .answer").inner_text()


def test_a_form_can_be_filled_instead(mixed, opened):
    (X, y), _ = mixed
    tree = DecisionTreeClassifier(max_depth=5).fit(X, y)
    page = opened(tree.report(X, y))
    page.click("#tab-row")
    page.select_option("#cell-2", "red")
    page.fill("#cell-0", "51.5")
    row = pd.DataFrame({"age": [51.5], "income": [None], "colour": ["red"], "size": [None]})
    row["shape"] = None
    leaf = tree.apply(row.astype({"income": float}))[0]
    assert page.get_attribute("#explorer", "data-leaf") == str(leaf)
    page.fill("#cell-0", "abc")
    assert "“age” is numeric" in page.locator("#row-result [role=alert]").inner_text()


def test_divided_rows_light_several_paths(mixed, opened):
    (X, y), _ = mixed
    tree = C45Classifier().fit(X, y)
    page = opened(tree.report(X, y))
    page.click("#tab-row")
    page.fill("#row-text", "age\n")
    page.click("#row-follow")
    assert "no row below" in page.locator("#row-result [role=alert]").inner_text()
    page.fill("#row-text", "{}")
    page.click("#row-follow")
    assert "No name matches" in page.locator("#row-result [role=alert]").inner_text()
    page.fill("#row-text", '{"age": null}')
    page.click("#row-follow")
    assert "other nodes" in page.locator("#row-result .answer").inner_text()
    assert len(state(page)["lit"]) > 10
    assert "goes down every branch" in page.locator(".steps").inner_text()


def test_a_row_that_cannot_be_read_is_explained(iris, opened):
    tree, X, y = iris
    page = opened(tree.report(X, y))
    page.click("#tab-row")
    for text, words in {
        "1,2,3": "3 values were given, and the model has 4 columns",
        "[1, 2]": "2 values were given",
        "{oops": "This is not JSON",
        "": "Paste a row first",
        "a,b\n1,2": "No name matches a column",
        "5,4,3,abc": "“petal width (cm)” is numeric, and “abc” is no number",
    }.items():
        page.fill("#row-text", text)
        page.click("#row-follow")
        assert words in page.locator("#row-result [role=alert]").inner_text()
        assert state(page)["lit"] is None


def test_another_tree_of_an_ensemble_can_be_chosen(mixed, opened):
    (X, y), (other, y_other) = mixed
    forest = RandomForestClassifier(n_estimators=14, max_depth=4, oob_score=True, random_state=0)
    page = opened(forest.fit(X, y).report(other, y_other))
    assert "10 of 14 trees" in page.locator("#tree .head").inner_text()
    assert page.locator("#learning svg path").count() >= 2  # report and out-of-bag rows
    page.click("#tab-row")
    page.fill("#row-text", other.iloc[[0]].to_csv(index=False))
    page.click("#row-follow")
    page.select_option("#tree-choice", "9")
    assert page.get_attribute("#explorer", "data-leaf") == str(forest.apply(other.iloc[[0]])[0, 13])


def test_boosted_trees_say_what_they_add(mixed, opened):
    (X, y), (other, y_other) = mixed
    boosted = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    page = opened(boosted.report(other, y_other))
    names = page.locator("#tree-choice option").all_inner_texts()
    assert names[0] == "Round 1, class 0"
    assert "the tree adds" in page.locator("#node-rule").inner_text()


def test_a_regression_shows_predictions_and_residuals(opened):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = DecisionTreeRegressor(ccp_alpha=50)
    page = opened(model.fit(X[::2], y[::2]).report(X[1::2], y[1::2]))
    titles = page.locator("#numbers h3").all_inner_texts()
    assert titles == ["Predicted and actual", "Residuals", "Distribution of residuals"]
    assert page.locator("#numbers figure").first.locator("circle").count() == len(y[1::2])


def test_colours_follow_the_system_and_a_choice(iris, opened, until):
    tree, X, y = iris
    page = opened(tree.report(X, y), color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    drawn = f"({VIEW}.paint(), {VIEW}.colours.card)"
    dark_box = page.evaluate(drawn)  # the tree, too, which is no part of the style sheet
    page.click(".theme >> text=Light")
    assert page.get_attribute("html", "data-theme") == "light"
    assert page.evaluate(paper) != dark
    assert page.evaluate(drawn) != dark_box
    assert page.get_attribute(".theme button >> nth=1", "aria-pressed") == "true"
    page.click(".theme >> text=Auto")
    assert page.evaluate(paper) == dark
    page.emulate_media(color_scheme="light")
    until(page, f"{paper} !== '{dark}'")


def test_nothing_of_the_data_becomes_code(opened):
    """Names, categories and classes that would be code if anybody let them."""
    attack = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
    quotes = "\"'`${window.hacked=1}\\"
    X = pd.DataFrame(
        {attack: [0, 1, 2, 3] * 5, "__proto__": [1, 0] * 10, quotes: [attack, quotes] * 10}
    ).astype({quotes: "category"})
    y = [attack, quotes, "<b>c</b>", "d"] * 5
    tree = DecisionTreeClassifier().fit(X, y)
    page = opened(tree.report(X, y, title=f"</title>{attack}{quotes}$title"))
    for node in range(tree.tree_.n_nodes):
        page.evaluate(f"{VIEW}.select({node})")
    page.click("#tab-row")
    page.fill("#row-text", X.iloc[[1]].to_csv(index=False))
    page.click("#row-follow")
    page.fill("input[type=search]", attack)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert "<b>c</b>" in page.locator("#classes").inner_text()
    assert page.locator("h1").inner_text().endswith("$title")
    assert page.get_attribute("#explorer", "data-leaf") == str(tree.apply(X.iloc[[1]])[0])


def test_a_narrow_screen_has_no_sideways_scrolling(iris, opened):
    tree, X, y = iris
    page = opened(tree.report(X, y), viewport={"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_page_can_be_printed(iris, opened):
    tree, X, y = iris
    page = opened(tree.report(X, y), color_scheme="dark")
    assert page.pdf()[:5] == b"%PDF-"
    assert page.get_attribute("html", "data-theme") == "dark"
