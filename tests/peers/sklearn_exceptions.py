"""What scikit-learn's tests expect and our classes do not do, each with its reason."""

MADE_FOR = "1.9"  # the scikit-learn whose tests these are

# Errors by which our classes say that they do not do something; tests that end in one are excepted.
REFUSALS = {
    r"ValueError: criterion='absolute_error' needs medians": "docs/criteria.md: no medians of sums",
    r"TypeError: estimator=(.|\n)* is not a tree of gputree": (
        "docs/migration/sklearn.md: bagging and AdaBoost of trees of gputree only"
    ),
    r"ValueError: y should be a 1d array, got an array of shape": (
        "docs/migration/sklearn.md: a classifier has one output"
    ),
    r"TypeError: ExtraTrees\w+.__init__\(\) got an unexpected keyword argument 'monotonic_cst'": (
        "docs/migration/sklearn.md: no constraints where splits are drawn"
    ),
}

TEXT = "docs/migration/sklearn.md: texts and pictures have a form of their own"
MESSAGE = "the same mistake is refused in other words, which name the row or the cure"
VALUE = "docs/migration/sklearn.md: tree_.value is (nodes, outputs), not (nodes, outputs, classes)"
PRIVATE = "asks for an attribute of scikit-learn's compiled trees, or of their pickles"
LEAF = "docs/migration/sklearn.md: a leaf has the feature -1 and the threshold NaN, not -2"
WIDE = "values are read as float64: no overflow of float32, no smallest difference of two values"
SEEDS = "docs/migration/sklearn.md: trees of an ensemble are drawn by their number, not by a seed"
TIES = "docs/migration/sklearn.md: ties go to the lower feature, not to a random one"

EXCEPTIONS = {
    "sklearn.tree.tests.test_export": {
        "test_graphviz_toy": TEXT,
        "test_graphviz_feature_class_names_array_support": TEXT,
        "test_graphviz_errors": MESSAGE,
        "test_precision": TEXT,
        "test_export_text_errors": MESSAGE,
        "test_export_text": TEXT,
        "test_export_text_feature_class_names_array_support": TEXT,
        "test_plot_tree_entropy": TEXT,
        "test_plot_tree_gini": TEXT,
    },
    "sklearn.tree.tests.test_tree": {
        "test_error": MESSAGE,
        "test_pickle": PRIVATE,
        "test_sample_weight_invalid": MESSAGE,
        "test_class_weight_errors": MESSAGE,
        "test_arrays_persist": PRIVATE,
        "test_almost_constant_feature": WIDE,
        "test_big_input": WIDE,
        "test_huge_allocations": "memory is taken for leaves that come, not for max_leaf_nodes",
        "test_explicit_sparse_zeros": PRIVATE,
        "test_empty_leaf_infinite_threshold": LEAF,
        "test_prune_tree_classifier_are_subtrees": LEAF,
        "test_prune_tree_regression_are_subtrees": LEAF,
        "test_prune_single_node_tree": LEAF,
        "test_min_sample_split_1_error": MESSAGE,
        "test_missing_value_errors": "infinities are values, which fit and predict take",
        "test_deterministic_pickle": "fit_report_ holds times; to_bytes is what is equal",
        "test_build_pruned_tree_py": PRIVATE,
        "test_build_pruned_tree_infinite_loop": PRIVATE,
        "test_friedman_mse_deprecation": "the warning comes at fit, not when an object is made",
    },
    "sklearn.tree.tests.test_monotonic_tree": {
        "test_multiple_output_raises": "classifiers refuse several outputs before constraints",
        "test_assert_nd_reg_tree_children_monotonic_bounded": VALUE,
        "test_nd_tree_nodes_values": VALUE,
    },
    "sklearn.ensemble.tests.test_weight_boosting": {
        "test_iris": SEEDS,
        "test_diabetes": SEEDS,
        "test_adaboost_classifier_sample_weight_error": MESSAGE,
        "test_sample_weights_infinite": "weights stay finite, so there is nothing to warn of",
        "test_adaboost_negative_weight_error": MESSAGE,
    },
    "sklearn.inspection.tests.test_permutation_importance": {
        "test_permutation_importance_correlated_feature_regression_pandas": TIES,
        "test_permutation_importance_equivalence_array_dataframe": (
            "docs/nominal.md: a column of categories at predict must have been one at fit"
        ),
    },
}
