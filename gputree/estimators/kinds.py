"""Every ensemble, for those who look one up by its name."""

from gputree.boosting.gradient import GradientBoostingClassifier
from gputree.boosting.gradient_regressor import GradientBoostingRegressor
from gputree.ensembles.adaboost import AdaBoostClassifier, AdaBoostRegressor
from gputree.ensembles.bagging import BaggingClassifier, BaggingRegressor
from gputree.ensembles.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from gputree.ensembles.forests import RandomForestClassifier, RandomForestRegressor

ENSEMBLES = (
    *(AdaBoostClassifier, AdaBoostRegressor),
    *(BaggingClassifier, BaggingRegressor),
    *(RandomForestClassifier, RandomForestRegressor),
    *(ExtraTreesClassifier, ExtraTreesRegressor),
    *(GradientBoostingClassifier, GradientBoostingRegressor),
)
