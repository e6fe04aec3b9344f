"""Where a category is in the list of a node; compiled for CPU and CUDA.

The layout of lists is told in `gputree.tree.categories`.
"""


def place_of(number, start, category):
    """The entry of a category in the list that begins at `start`: its own, or that of all others.

    The first entry holds how many follow, and stands below all of them.
    """
    low, n = start, start + category[start] + 1 - start  # as wide as `start`, not as a category
    while n > 1:
        half = n >> 1
        if category[low + half] <= number:
            low += half
        n -= half
    return low if category[low] == number else start
