"""Whose turn it is: a heap of nodes, the highest worth first, and of equal ones the lower node."""

from gputree.kernels.cpu.jit import inner


@inner
def comes_before(worth, node, a, b):
    """Whether one entry of a heap comes before another."""
    return worth[a] > worth[b] or (worth[a] == worth[b] and node[a] < node[b])


@inner
def exchange(worth, node, a, b):
    """Let two entries of a heap change places."""
    worth[a], worth[b] = worth[b], worth[a]
    node[a], node[b] = node[b], node[a]


@inner
def push(worth, node, n, own_worth, own):
    """Add a node to a heap of `n`."""
    worth[n], node[n] = own_worth, own
    at = n
    while at > 0 and comes_before(worth, node, at, (at - 1) >> 1):
        exchange(worth, node, at, (at - 1) >> 1)
        at = (at - 1) >> 1


@inner
def pop(worth, node, n):
    """Take the first node off a heap of `n`."""
    found = node[0]
    worth[0], node[0] = worth[n - 1], node[n - 1]
    at, n = 0, n - 1
    while True:
        first = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < n and comes_before(worth, node, child, first):
                first = child
        if first == at:
            return found
        exchange(worth, node, at, first)
        at = first
