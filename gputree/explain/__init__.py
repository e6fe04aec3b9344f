"""What each feature has done to a prediction."""

from gputree.explain.shap import Attribution, shap_values

__all__ = ["Attribution", "shap_values"]
