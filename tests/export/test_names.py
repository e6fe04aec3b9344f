"""Names of columns, classes and categories are data: no format takes them for anything else."""

import json
import sqlite3
import subprocess
from contextlib import suppress

import numpy as np
import pytest

import gputree
from gputree.export.plan import NotExportable
from tests.export.models import pd, values_of
from tests.export.test_c import GCC, answers, compiled

HOSTILE = [
    *("'", '"', "''", '"""', "`", "\\", "\\n", "\\'", "a\nb", "a\n  b", "a\r\nb", "\r", "\t"),
    *(
        "\u2028",
        "\u2029",
        "\x85",
        "\x0c",
        "\x1b[31m",
        "*/",
        "/*",
        "//\\",
        "b*",
        "??/",
        "???/",
        "*??/",
    ),
    *(
        "--",
        "; DROP TABLE data; --",
        "</script>",
        "<!--",
        "]]>",
        "&lt;",
        "{{",
        "}}",
        "{0}",
        "%s",
        "$x",
    ),
    *(
        "@X@",
        "@ANSWERS@/ int x; /",
        "@NAME@",
        "@COLUMNS@",
        "${title}",
        "🌳",
        "né",
        "\u202e\u200f",
        "\ufeff",
    ),
    *("class", "select", "int", "None", "null", "nan", "True", "0", " ", "x" * 4000, "\\N", "\\0"),
]
UNWRITABLE = ["a\0b", "\0", "\ud800", "a\udfff"]
CODE = ["to_python", "to_c", "to_sql"]


def table(names, categories, seed=0):
    """Numbers under some names, and a column of the categories."""
    draw = np.random.default_rng(seed)
    n_rows = 8 * len(categories)
    columns = {name: draw.normal(size=n_rows).round(2) for name in names}
    cells = np.empty(n_rows, object)
    cells[:] = [categories[at % len(categories)] for at in range(n_rows)]
    columns["level"] = cells[draw.permutation(n_rows)]
    return pd.DataFrame(columns)


def model_of(names, categories, classes, kind=gputree.DecisionTreeClassifier, **options):
    X = table(names, categories)
    draw = np.random.default_rng(1)
    place = {category: at for at, category in enumerate(categories)}
    score = [place[category] for category in X["level"]] + draw.normal(size=len(X))
    y = np.array(classes, object)[(np.argsort(np.argsort(score)) * len(classes)) // len(X)]
    return kind(categorical_features=["level"], **options).fit(X, y), X


@pytest.fixture(scope="module")
def hostile():
    """Trees by every kind of split, and a sum with a link, which makes another SELECT of it."""
    names = [name for name in HOSTILE if name.strip() and len(name) < 60 and name != "\\N"]
    boosting = {"kind": gputree.GradientBoostingClassifier, "n_estimators": 2, "random_state": 0}
    return [
        model_of(names, HOSTILE, HOSTILE[:12]),
        model_of(names, HOSTILE, HOSTILE[12:], max_depth=6),
        model_of(names, HOSTILE, ["@ANSWERS@/ int x; /", "b*"], **boosting),
    ]


def test_sql_answers_as_the_model_does(hostile):
    for model, X in hostile:
        base = sqlite3.connect(":memory:")
        names = [name.replace('"', '""') for name in X.columns]
        # SQLite takes names that differ in case for one.
        base.execute(
            "CREATE TABLE data (id INTEGER, " + ", ".join(f'"{name}"' for name in names) + ")"
        )
        marks = ", ".join("?" * (1 + X.shape[1]))
        numbered = ([at, *row] for at, row in enumerate(values_of(X)))
        base.executemany(f"INSERT INTO data VALUES ({marks})", numbered)
        query = model.to_sql(dialect="sqlite", keep=["id"]) + "ORDER BY id"
        found = np.array(base.execute(query).fetchall())[:, 1:]
        np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-13)


def test_kept_names_cannot_be_those_of_the_select(hostile):
    with pytest.raises(ValueError, match="rename"):
        hostile[2][0].to_sql(keep=["GPUTREE_raw_0"])


@pytest.mark.skipif(GCC is None, reason="needs gcc")
def test_c_compiles_and_answers_as_the_model_does(hostile, tmp_path):
    for at, (model, X) in enumerate(hostile):
        folder = tmp_path / str(at)
        folder.mkdir()
        library = compiled(model, folder)
        matrix = X.drop(columns="level").to_numpy(np.float64)
        place = {category: number for number, category in enumerate(model.schema_.categories[-1])}
        matrix = np.column_stack([matrix, [place[category] for category in X["level"]]])
        found, codes = answers(library, matrix)
        assert not any(codes)
        assert (found == model.predict_proba(X)).all()


@pytest.mark.skipif(GCC is None, reason="needs gcc")
@pytest.mark.parametrize("standard", ["c99", "gnu11"])
def test_no_name_leaves_a_comment_of_c(standard, tmp_path):
    names = [
        f"{a}{b}" for a in ("*", "?", "/", "\\", "*??/", "a") for b in ("/", "?/", "??/", "*\n/")
    ]
    X = pd.DataFrame({name: [0.0, 1.0] for name in ["#error", *names, "@ANSWERS@/ int x; /"]})
    model = gputree.DecisionTreeClassifier().fit(X, ["/", "b*"])
    source = tmp_path / "model.c"
    source.write_text(model.to_c())
    words = [f"-std={standard}", "-trigraphs", "-Wall", "-Werror", "-c", "-o", "/dev/null"]
    run = subprocess.run([GCC, *words, str(source)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_python_answers_as_the_model_does(hostile, tmp_path):
    for model, X in hostile:
        path = tmp_path / "module.py"
        path.write_text(model.to_python(), encoding="utf-8")
        scope = {}
        exec(compile(path.read_bytes(), str(path), "exec"), scope)
        found = [scope["predict_proba"](row) for row in values_of(X)]
        assert (np.array(found) == model.predict_proba(X)).all()
        assert [scope["predict"](row) for row in values_of(X)] == model.predict(X).tolist()


def test_json_and_files_keep_names(hostile, tmp_path):
    for model, X in hostile:
        again = gputree.from_json(model.to_json())
        assert again.to_bytes() == model.to_bytes()
        assert (again.predict(X) == model.predict(X)).all()
        model.save(tmp_path / "model.gputree")
        assert gputree.load(tmp_path / "model.gputree").to_bytes() == model.to_bytes()


def test_onnx_answers_as_the_model_does(hostile):
    runtime = pytest.importorskip("onnxruntime")
    for model, X in hostile:
        session = runtime.InferenceSession(model.to_onnx().SerializeToString())
        given = {name: X[[name]].to_numpy() for name in X.columns}
        found, label = session.run(["probabilities", "label"], given)
        np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-12, atol=1e-300)
        assert label.ravel().tolist() == model.predict(X).tolist()


def test_treelite_keeps_names(hostile):
    pytest.importorskip("treelite")
    for model, _ in hostile:
        said = json.loads(model.to_treelite().dump_as_json())
        assert said["attributes"] or said["num_feature"] == model.n_features_in_


def test_a_forest_of_numbers_becomes_scikit_learns(hostile):
    model, X = hostile[0]
    X = X.drop(columns="level")
    forest = gputree.RandomForestClassifier(3, random_state=0, max_depth=3).fit(
        X, model.predict(hostile[0][1])
    )
    X = X.astype(np.float32)
    assert (forest.to_sklearn().predict(X) == forest.predict(X)).all()


def test_a_drawing_has_all_nodes_and_edges_and_no_more(hostile):
    for model, _ in hostile[:2]:
        source = model.export_graphviz()
        lines = source.splitlines()  # splits at all that some reader may take for a line break
        n_nodes = model.tree_.n_nodes
        assert len(lines) == 3 + n_nodes + (n_nodes - 1) + 1
        assert all(line.endswith(("] ;", "{", "}")) for line in lines)
        for line in lines[3:-1]:
            inside = line.split("[label=", 1)[1]
            text = inside.replace("\\\\", "").replace('\\"', "")
            assert text.count('"') in (2, 4)


def test_a_report_has_nothing_of_the_data_as_code(hostile, tmp_path):
    for model, X in hostile[:2]:
        page = model.report(X, model.predict(X))
        assert page.html.lower().count("</script") == page.html.lower().count("<script")
        assert "<!--" not in page.html.split("<script", 1)[1]
        page.save(tmp_path / "report.html")


def test_text_is_readable_line_by_line(hostile):
    for model, _ in hostile[:2]:
        text = model.export_text()
        assert len(text.split("\n")) == len(text.splitlines()) == model.tree_.n_nodes - 1


@pytest.mark.parametrize("name", UNWRITABLE)
@pytest.mark.parametrize("where", ["column", "level", "class"])
def test_what_a_format_cannot_hold_is_refused_or_kept(name, where, tmp_path):
    # Without pandas, which cannot hold halves of characters.
    categories = ["p", "q", name if where == "level" else "r"]
    X = np.array([[at % 5, categories[at % 3]] for at in range(30)], object)
    y = np.array(["k", name if where == "class" else "l"], object)[np.arange(30) % 3 // 2]
    model = gputree.DecisionTreeClassifier(categorical_features=[1]).fit(X, y)
    if where == "column":
        model = gputree.from_json(model.to_json().replace('"x1"', json.dumps(name)))
        assert model.schema_.names[1] == name
    for each in CODE:
        with suppress(NotExportable):
            getattr(model, each)().encode()  # can be written
    scope = {}
    exec(model.to_python(), scope)
    assert [scope["predict"](row) for row in X.tolist()] == model.predict(X).tolist()
    assert gputree.from_json(model.to_json()).to_bytes() == model.to_bytes()
    path = tmp_path / "model.gputree"
    model.save(path)
    assert gputree.load(path).to_bytes() == model.to_bytes()
    model.export_graphviz(tmp_path / "tree.dot")
    model.report(X, model.predict(X)).save(tmp_path / "report.html")
    model.export_text().encode()
