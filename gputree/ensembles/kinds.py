"""Every ensemble, for those who look one up by its name."""

from gputree.ensembles.bagging import BaggingClassifier, BaggingRegressor
from gputree.ensembles.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

ENSEMBLES = (
    *(BaggingClassifier, BaggingRegressor),
    *(RandomForestClassifier, RandomForestRegressor),
    *(ExtraTreesClassifier, ExtraTreesRegressor),
)
