"""Whole trees, grown level by level on the device.

The host launches the kernels of a level and waits once, for a few counts: how many nodes come next,
and into how many tiles their rows are cut. All else stays on the device until the tree is finished.
"""

from functools import cache

from gputree.kernels.cuda import grow

make_decide = cache(grow.make_decide)
make_doubt = cache(grow.make_doubt)
make_settle = cache(grow.make_settle)
make_list_tallied = cache(grow.make_list_tallied)
