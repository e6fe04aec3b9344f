"""Every kind of model, for those who look one up by its name."""

from gputree.boosting.gradient import GradientBoostingClassifier
from gputree.boosting.gradient_regressor import GradientBoostingRegressor
from gputree.ensembles.adaboost import AdaBoostClassifier, AdaBoostRegressor
from gputree.ensembles.bagging import BaggingClassifier, BaggingRegressor
from gputree.ensembles.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from gputree.ensembles.forests import RandomForestClassifier, RandomForestRegressor
from gputree.estimators.classic import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier
from gputree.estimators.oblique import ObliqueTreeClassifier, ObliqueTreeRegressor
from gputree.estimators.rule_set import RuleSetClassifier
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor

TREES = (
    *(DecisionTreeClassifier, DecisionTreeRegressor),
    *(ID3Classifier, C45Classifier),
    *(CARTClassifier, CARTRegressor),
    *(ObliqueTreeClassifier, ObliqueTreeRegressor),
)

ENSEMBLES = (
    *(AdaBoostClassifier, AdaBoostRegressor),
    *(BaggingClassifier, BaggingRegressor),
    *(RandomForestClassifier, RandomForestRegressor),
    *(ExtraTreesClassifier, ExtraTreesRegressor),
    *(GradientBoostingClassifier, GradientBoostingRegressor),
)
RULES = (RuleSetClassifier,)
