"""Formulas and inner loops, free of trees, tables and users; installed as `gputree.kernels`."""
