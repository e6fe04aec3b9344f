"""Write the corpus of this release: `python -m tests.corpus.write`, once, when it is released.

Every release has a folder here, which is never changed: models that were saved once are to be read
for ever, and to answer as they did.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import gputree
from gputree.tree import store
from tests.corpus.models import SIZES, all_models, fitted, pd, table

HERE = Path(__file__).parent
AS_JSON = ["tree direction subset", "forest multiway", "boosting"]  # saved as text, too


def rows_to_plain(X: Any) -> dict[str, list[Any]]:
    """Columns as JSON holds them; an infinity is 1e999, which every reader takes for one."""
    return {name: [None if pd.isna(x) else x for x in X[name]] for name in X}


def rows_of(plain: dict[str, list[Any]]) -> Any:
    """The table again."""
    X = pd.DataFrame({name: np.array(values, object) for name, values in plain.items()})
    X["size"] = pd.Categorical(X["size"], SIZES, ordered=True)
    for name in ("width", "height"):
        X[name] = X[name].astype(np.float64)
    return X


def asked(model: Any, X: Any) -> Any:
    """The rows and columns that a model can be asked about."""
    schema = (model if hasattr(model, "schema_") else model.estimator_).schema_
    if schema.unknown == "error":
        X = X[X["colour"] != "purple"]
    return X[list(schema.names)]


def answers_of(model: Any, X: Any) -> dict[str, Any]:
    """What a model says of rows: answers, and the leaves they come from."""
    X = asked(model, X)
    found = {"predict": model.predict(X).tolist()}
    for name in ("predict_proba", "decision_function", "apply"):
        if hasattr(model, name):
            found[name] = getattr(model, name)(X).tolist()
    if getattr(model, "keep_targets", False):
        found["predict_quantile"] = model.predict_quantile(X, [0.1, 0.5]).tolist()
    return found


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> None:
    """Fit the models and write them with their answers."""
    folder = HERE / gputree.__version__
    folder.mkdir()
    X = table(12, 1, is_new=True)
    told = {}
    for name in all_models():
        model, path = fitted(name), folder / f"{name.replace(' ', '_')}.gputree"
        model.save(path)
        told[path.name] = {
            "file": digest(path.read_bytes()),
            "model": digest(model.to_bytes()),
            **answers_of(model, X),
        }
        if name in AS_JSON:
            path.with_suffix(".json").write_text(model.to_json())
    content = {"format": store.FORMAT_VERSION, "rows": rows_to_plain(X), "answers": told}
    (folder / "answers.json").write_text(json.dumps(content, separators=(",", ":")))
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{folder}: {len(told)} models, {size:,} bytes")


if __name__ == "__main__":
    main()
