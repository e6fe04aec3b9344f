"""One model from the rows of several machines: who talks to whom, and how a fit is started."""

from gputree.cluster.fit import fit

__all__ = ["fit"]
