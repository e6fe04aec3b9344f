"""What scikit-learn's tests expect and our classes do not do, each with its reason."""

MADE_FOR = "1.9"  # the scikit-learn whose tests these are

# What our classes, or scikit-learn of them, refuse. Tests that end with such a text are excepted.
REFUSALS = {
    r"criterion='absolute_error' needs medians": "docs/criteria.md: no medians of sums",
    r"estimator=(.|\n)* is not a tree of gputree": (
        "docs/migration/sklearn.md: bagging and AdaBoost of trees of gputree only"
    ),
    r"y should be a 1d array, got an array of shape": (
        "docs/migration/sklearn.md: a classifier has one output"
    ),
    r"ExtraTrees\w+.__init__\(\) got an unexpected keyword argument 'monotonic_cst'": (
        "docs/migration/sklearn.md: no constraints where splits are drawn"
    ),
}

PRIVATE = "asks for a private attribute or a compiled class of scikit-learn"
WIDE = "docs/migration/sklearn.md: values are compared as float64, not rounded to float32"
TIES = "docs/migration/sklearn.md: ties go to the lower feature, not to a random one"
BINS = "docs/migration/sklearn.md: more than 255 values are cut at quantiles"
DRAWS = "docs/migration/sklearn.md: other draws, by which a score passes a bound narrowly, or not"
WEIGHTS = "docs/migration/sklearn.md: whole weights count rows, and the size of others is nothing"
NO_BAG = "docs/migration/sklearn.md: out-of-bag scores go with warm_start and with max_samples"
RECURSION = "docs/migration/sklearn.md: method='recursion' is for scikit-learn's own classes"
LEAVES = "docs/migration/sklearn.md: boosting of numbers wants 20 rows in a leaf"
WARNS_LATER = "docs/migration/sklearn.md: friedman_mse warns at fit, not when an object is made"

# Not among them: sklearn.ensemble.tests.test_gradient_boosting. Our classes of that name have the
# parameters of HistGradientBoosting*; docs/migration/sklearn.md says what differs.
EXCEPTIONS = {
    "sklearn.tree.tests.test_export": {
        "test_precision": BINS,
        "test_export_text": TIES,
        "test_export_text_feature_class_names_array_support": TIES,
    },
    "sklearn.tree.tests.test_tree": {
        "test_error": "y of another length than X is refused before its values are looked at",
        "test_almost_constant_feature": WIDE,
        "test_big_input": WIDE,
        "test_huge_allocations": "docs/migration/sklearn.md: memory for leaves that come",
        "test_missing_value_errors": "docs/migration/sklearn.md: NaN in sparse tables is missing",
        "test_deterministic_pickle": "docs/migration/sklearn.md: fit_report_ holds times",
        "test_build_pruned_tree_py": PRIVATE,
        "test_build_pruned_tree_infinite_loop": PRIVATE,
        "test_friedman_mse_deprecation": WARNS_LATER,
    },
    "sklearn.tree.tests.test_monotonic_tree": {},
    "sklearn.ensemble.tests.test_forest": {
        "test_importances": WEIGHTS,
        "test_forest_classifier_oob": DRAWS,
        "test_forest_multioutput_integral_regression_target": PRIVATE,
        "test_distribution": "docs/migration/sklearn.md: nodes are numbered breadth-first",
        "test_validate_y_class_weight": PRIVATE,
        "test_class_weights_forest": PRIVATE,
        "test_class_weight_errors": "docs/migration/sklearn.md: a classifier has one output",
        "test_oob_not_computed_twice": PRIVATE,
        "test_backend_respected": "docs/migration/sklearn.md: threads of its own, not joblib's",
        "test_max_samples_geq_one": PRIVATE,
        "test_max_samples_bootstrap": NO_BAG,
        "test_mse_criterion_object_segfault_smoke_test": PRIVATE,
        "test_friedman_mse_deprecation": WARNS_LATER,
    },
    "sklearn.ensemble.tests.test_bagging": {
        "test_oob_score_regression": DRAWS,
        "test_warm_start_with_oob_score_fails": NO_BAG,
        "test_warning_bootstrap_sample_weight": WEIGHTS,
        "test_invalid_sample_weight_max_samples_bootstrap_combinations": WEIGHTS,
        "test_bagging_allow_nan_tag": "asks for tags of bagging that is refused at fit",
    },
    "sklearn.ensemble.tests.test_weight_boosting": {
        "test_sample_weights_infinite": "docs/migration/sklearn.md: weights of rows stay finite",
    },
    "sklearn.inspection.tests.test_permutation_importance": {
        "test_permutation_importance_correlated_feature_regression_pandas": TIES,
    },
    "sklearn.inspection.tests.test_partial_dependence": {
        "test_partial_dependence_helpers": PRIVATE,
        "test_recursion_decision_tree_vs_forest_and_gbdt": PRIVATE,
        "test_recursion_decision_function": RECURSION,
        "test_partial_dependence_easy_target": LEAVES,
        "test_partial_dependence_error": RECURSION,
        "test_warning_recursion_non_constant_init": "docs/migration/sklearn.md: no init",
        "test_partial_dependence_sample_weight_of_fitted_estimator": RECURSION,
    },
}
