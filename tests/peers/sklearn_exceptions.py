"""What scikit-learn's tests expect and our classes do not do, each with its reason."""

MADE_FOR = "1.9"  # the scikit-learn whose tests these are

# What our classes, or scikit-learn of them, refuse. Tests that end with such a text are excepted.
REFUSALS = {
    r"criterion='absolute_error' needs medians": "docs/criteria.md: no medians of sums",
    r"estimator=(.|\n)* is (not a|a subclass of a) tree of gputree": (
        "docs/migration/sklearn.md: bagging and AdaBoost of trees of gputree only"
    ),
    # Trees stand in for other estimators that are bagged (tests/peers/sklearn_bagging.py). A test
    # may ask last, once predictions were compared, for an attribute that only those have; bags
    # of trees of scikit-learn do not have it either.
    r"(Bagging|DecisionTree)\w+' object has no attribute '(coef_|data_type_|decision_function)'"
    r"|Invalid parameter 'C' for estimator DecisionTreeClassifier": (
        "docs/migration/sklearn.md: bagging and AdaBoost of trees of gputree only"
    ),
    r"y should be a 1d array, got an array of shape": (
        "docs/migration/sklearn.md: a classifier has one output"
    ),
}

PRIVATE = "asks for a private attribute or a compiled class of scikit-learn"
WIDE = "docs/migration/sklearn.md: values are compared as float64, not rounded to float32"
TIES = "docs/migration/sklearn.md: ties go to the lower feature, not to a random one"
BINS = "docs/migration/sklearn.md: more than 255 values are cut at quantiles"
DRAWS = "docs/migration/sklearn.md: other draws, by which a score passes a bound narrowly, or not"
WEIGHTS = "docs/migration/sklearn.md: whole weights count rows, and the size of others is nothing"
NO_BAG = "docs/migration/sklearn.md: out-of-bag scores go with warm_start and with max_samples"
GRADIENTS = (
    "docs/boosting.md: gradients are integers, whose rounding shows after four to six digits"
)
LEAVES = "docs/migration/sklearn.md: boosting of numbers wants 20 rows in a leaf"

HELD_OUT = "docs/migration/sklearn.md: other rows are held out, drawn by what they hold"
ROW_LEFT = "docs/migration/sklearn.md: every class keeps a row to train on when rows are held out"
ONE_CLASS = "docs/migration/sklearn.md: one class is a model, which has all of the probability"
CATEGORIES = (
    "docs/migration/sklearn.md: max_bins does not bound categories, up to 65,535 are accepted"
)

EXCEPTIONS = {
    "sklearn.tree.tests.test_export": {
        "test_precision": BINS,
        "test_export_text": TIES,
        "test_export_text_feature_class_names_array_support": TIES,
    },
    "sklearn.tree.tests.test_tree": {
        "test_almost_constant_feature": WIDE,
        "test_big_input": WIDE,
        "test_huge_allocations": "docs/migration/sklearn.md: memory for leaves that come",
        "test_missing_value_errors": "docs/migration/sklearn.md: NaN in sparse tables is missing",
        "test_build_pruned_tree_py": PRIVATE,
        "test_build_pruned_tree_infinite_loop": PRIVATE,
    },
    "sklearn.tree.tests.test_monotonic_tree": {},
    "sklearn.ensemble.tests.test_forest": {
        "test_importances": WEIGHTS,
        "test_forest_multioutput_integral_regression_target": PRIVATE,
        "test_distribution": (
            "docs/migration/sklearn.md: other draws, of trees that are numbered breadth-first"
        ),
        "test_backend_respected": "docs/migration/sklearn.md: threads of its own, not joblib's",
        "test_max_samples_bootstrap": NO_BAG,
        "test_mse_criterion_object_segfault_smoke_test": PRIVATE,
    },
    "sklearn.ensemble.tests.test_bagging": {
        "test_oob_score_regression": DRAWS,
        "test_warm_start_with_oob_score_fails": NO_BAG,
        "test_warning_bootstrap_sample_weight": WEIGHTS,
        "test_invalid_sample_weight_max_samples_bootstrap_combinations": WEIGHTS,
    },
    "sklearn.ensemble.tests.test_weight_boosting": {},
    "sklearn.inspection.tests.test_permutation_importance": {
        "test_permutation_importance_correlated_feature_regression_pandas": TIES,
    },
    "sklearn.inspection.tests.test_partial_dependence": {
        "test_recursion_decision_tree_vs_forest_and_gbdt": PRIVATE,
        "test_partial_dependence_easy_target": LEAVES,
    },
    "sklearn.ensemble.tests.test_gradient_boosting": {
        "test_single_class_with_sample_weight": ONE_CLASS,
        "test_degenerate_targets": ONE_CLASS,
        "test_oob_improvement": DRAWS,
        "test_early_stopping_stratified": ROW_LEFT,
        "test_early_stopping_n_classes": ROW_LEFT,
        "test_multinomial_error_exact_backward_compat": (
            "classes that are alike differ in the eighth digit of what is expected, and not here"
        ),
        "test_criterion_param_deprecation": (
            "docs/migration/sklearn.md: gradient boosting has no parameter `criterion`"
        ),
    },
    "sklearn.ensemble._hist_gradient_boosting.tests.test_gradient_boosting": {
        "test_early_stopping_classification": HELD_OUT,
        "test_sample_weight_effect": GRADIENTS,
        "test_early_stopping_with_sample_weights": PRIVATE,
        "test_raw_predict_is_called_with_custom_scorer": PRIVATE,
        "test_unknown_categories_nan": (
            "docs/migration/sklearn.md: a negative number is a category, not a missing value"
        ),
        "test_categorical_bad_encoding_errors": CATEGORIES,
        "test_X_val_in_fit": HELD_OUT,
        "test_X_val_raises_with_early_stopping_false": (
            "docs/migration/sklearn.md: other rows are watched without early stopping, too"
        ),
        "test_dataframe_categorical_errors": CATEGORIES,
    },
    "sklearn.ensemble._hist_gradient_boosting.tests.test_warm_start": {
        "test_warm_start_early_stopping": HELD_OUT,
    },
    "sklearn.ensemble._hist_gradient_boosting.tests.test_monotonic_constraints": {},
}
