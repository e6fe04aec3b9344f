"""Estimators whose trees can be read: as text, as a drawing, as rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gputree.dtypes import HostArray
from gputree.estimators import parameters
from gputree.tree.tree import Tree

# What describes trees is imported where it is asked for: most processes fit and predict.
if TYPE_CHECKING:
    from gputree.rules.rule_set import RuleSet
    from gputree.tree.describe import Boxes


class Readable(BaseEstimator):
    """What is the same for all estimators about showing a tree."""

    nodes_: Tree
    schema_: Any
    classes_: HostArray

    def export_text(
        self,
        *,
        feature_names: Any = None,
        class_names: Any = None,
        max_depth: int | None = None,
        decimals: int = 2,
        show_surrogates: bool = False,
    ) -> str:
        """The tree as indented text; `gputree.export_text` explains the parameters.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gputree import DecisionTreeClassifier
        >>> iris = load_iris(as_frame=True)
        >>> tree = DecisionTreeClassifier(max_depth=1).fit(iris.data, iris.target)
        >>> print(tree.export_text())
        petal length (cm) <= 2.45: class 0 (50 rows, 100.0%)
        petal length (cm) >  2.45: class 1 (100 rows, 50.0%)
        """
        from gputree.tree.export import tree_text

        boxes = self._boxes(feature_names, class_names, max_depth, decimals)
        branches = boxes.branches
        return tree_text(
            self.nodes_,
            branches.names,
            branches.categories,
            boxes.answers.leaf,
            max_depth=max_depth,
            decimals=decimals,
            has_missing=branches.has_missing,
            show_surrogates=show_surrogates,
        )

    def export_graphviz(
        self,
        out_file: Any = None,
        *,
        feature_names: Any = None,
        class_names: Any = None,
        max_depth: int | None = None,
        decimals: int = 2,
        filled: bool = False,
        impurity: bool = False,
    ) -> str | None:
        """The tree in the DOT language; `gputree.export_graphviz` explains the parameters."""
        from gputree.tree.graphviz import tree_dot

        boxes = self._boxes(feature_names, class_names, max_depth, decimals, impurity)
        source = tree_dot(boxes, self._colours(filled))
        if out_file is None:
            return source
        if hasattr(out_file, "write"):
            out_file.write(source)
        else:
            Path(out_file).write_text(source, encoding="utf-8")
        return None

    def plot(
        self,
        *,
        feature_names: Any = None,
        class_names: Any = None,
        max_depth: int | None = None,
        decimals: int = 2,
        filled: bool = False,
        impurity: bool = False,
        ax: Any = None,
        fontsize: float | None = None,
    ) -> list[Any]:
        """Draw the tree with matplotlib; `gputree.plot_tree` explains the parameters."""
        from gputree.plots.boxes import draw  # pictures know estimators, not the other way round

        if fontsize is not None:
            parameters.real("fontsize", fontsize, 1.0)
        boxes = self._boxes(feature_names, class_names, max_depth, decimals, impurity)
        return draw(boxes, self._colours(filled), ax=ax, fontsize=fontsize)

    def to_rules(self, X: Any = None, y: Any = None) -> "RuleSet":
        """One rule per leaf of a classifier, in the order of `export_text`.

        The branches on the path to a leaf are combined column by column. A missing value satisfies
        no condition except `is missing`, so rules may have no prediction where the tree has one.

        Parameters
        ----------
        X, y : table and labels, optional
            Rows to count the rules on; those of the leaves by default.

        Examples
        --------
        >>> from gputree import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[1], [2], [3]], ["a", "b", "a"])
        >>> print(tree.to_rules())
        IF x0 <= 1.50 THEN a (1 row, 100.0%)
        IF x0 > 1.50 AND x0 <= 2.50 THEN b (1 row, 100.0%)
        IF x0 > 2.50 THEN a (1 row, 100.0%)
        """
        from gputree.rules.from_tree import rules_of

        check_is_fitted(self)
        if not hasattr(self, "classes_"):
            raise TypeError("rules predict classes, and a regression has none")
        rules = rules_of(self.nodes_, self.schema_, self.classes_)
        if X is None and y is None:
            return rules
        if X is None or y is None:
            raise ValueError("rules are counted on X and y; give both or neither")
        return rules.counted(self._checked(X), y)

    # What estimators fill in.

    def _checked(self, X: Any) -> Any:
        """X, if it fits the columns of the training."""
        raise NotImplementedError

    # Helpers.

    def _boxes(
        self,
        feature_names: Any,
        class_names: Any,
        max_depth: int | None,
        decimals: int,
        impurity: bool = False,
    ) -> "Boxes":
        """The tree in words."""
        from gputree.tree.describe import Answers, Boxes, Branches, columns_of

        check_is_fitted(self)
        parameters.whole("max_depth", max_depth, 0, or_none=True)
        parameters.whole("decimals", decimals, 0)
        schema = self.schema_
        known = parameters.names("feature_names", feature_names, schema.names, "features")
        names, categories, has_missing = columns_of(
            self.nodes_, known, schema.categories, schema.has_missing
        )
        classes: tuple[str, ...] | None = None
        if hasattr(self, "classes_"):
            classes = parameters.names("class_names", class_names, self.classes_, "classes")
        elif class_names is not None:
            raise ValueError("class_names: a regression has no classes; leave it out")
        branches = Branches(self.nodes_, names, categories, decimals, has_missing)
        return Boxes(branches, Answers(self.nodes_, classes), max_depth, impurity)

    def _colours(self, filled: bool) -> list[str] | None:
        from gputree.tree.colours import node_colours

        return node_colours(self.nodes_, is_classes=hasattr(self, "classes_")) if filled else None
