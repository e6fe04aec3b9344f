"""What random projections of the rows of a node are made of, for every backend.

A projection is a weighted sum of a few columns. The key of a node tells how many columns each of
its projections has, which ones, and their signs. Weights are powers of two, so that products are
exact. Values of a node are compared with steps of equal length between the smallest and the largest
of them, or with one threshold that is drawn.
"""

STEPS = 255  # codes of a projection take a byte, with one for missing values
FIRST_DRAW = 2**32  # numbers of draws that nothing else of a node draws
THRESHOLD_DRAW = 2**32  # of the key of a projection; terms have the numbers from 1 on
