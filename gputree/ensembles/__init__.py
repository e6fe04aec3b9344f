"""Many trees that answer together: bagging, random forests, extremely random trees, AdaBoost."""
