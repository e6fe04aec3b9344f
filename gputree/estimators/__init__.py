"""scikit-learn estimators: they translate its conventions into calls and hold the result."""
