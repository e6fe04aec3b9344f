"""One model from the rows of several machines: who talks to whom, and how a fit is started."""

from gputree.cluster.fitting import fit, parts_of

__all__ = ["fit", "parts_of"]
