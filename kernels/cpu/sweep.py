"""Sweeps over all rows of a table, each of which has the number of its node.

Nodes are divided in waves. A sweep gives rows of divided nodes the numbers of children and lists
them; of those, the rows of children that shall be summed are listed with their words. Rows are
taken in chunks of `step`, each of which has lists of its own, so that none waits for another.
Lists have room for one entry more, which is written and not kept.
"""

import numpy as np

from gputree.kernels.cpu.jit import kernel

# A record says all of a node's split in one word: feature, the last code that goes left, the code
# that goes left all the same, and the number of the left child. NEVER is no code.
NUMBER = np.uint64(0xFFFF)
CUT, EXCEPTION, CHILD = np.uint64(16), np.uint64(32), np.uint64(48)
NEVER = 0xFFFF


@kernel
def child_of(record, here):
    """The number of the child to which a record sends a code."""
    is_beyond = np.uint64(here > ((record >> CUT) & NUMBER))
    is_usual = np.uint64(here != ((record >> EXCEPTION) & NUMBER))
    return (record >> CHILD) + (is_beyond & is_usual)


@kernel
def move_all(begin, end, step, record, code, base, node, count):
    """All rows to children, which have the numbers from `base` on; counts them for each child."""
    for chunk in range(begin, end):
        first, last = chunk * step, min((chunk + 1) * step, node.shape[0])
        nodes, counts = node[first:last], count[chunk]
        # Without a branch: where a row goes cannot be predicted.
        for i in range(last - first):
            own = record[nodes[i]]
            to = child_of(own, np.uint64(code[own & NUMBER, first + i]))
            nodes[i] = to
            counts[to - base] += 1


@kernel
def move(begin, end, step, is_divided, record, code, base, node, moved, n_moved, count):
    """Rows of divided nodes to children, and lists of those rows by their place in the chunk."""
    for chunk in range(begin, end):
        first, last = chunk * step, min((chunk + 1) * step, node.shape[0])
        nodes, list_of, counts = node[first:last], moved[chunk], count[chunk]
        n = 0
        for i in range(last - first):
            list_of[n] = i
            n += is_divided[nodes[i]]
        n_moved[chunk] = n
        for k in range(n):
            i = list_of[k]
            own = record[nodes[i]]
            to = child_of(own, np.uint64(code[own & NUMBER, first + i]))
            nodes[i] = to
            counts[to - base] += 1


@kernel
def enlist(
    begin, end, step, moved, n_moved, node, base, is_listed, cell_of, word, place, cell, amount,
    n_listed,
):  # fmt: skip
    """The rows of listed children among those that moved, where their sums begin, their words.

    A chunk of which all rows moved has no list of them.
    """
    for chunk in range(begin, end):
        first, last = chunk * step, min((chunk + 1) * step, node.shape[0])
        nodes, words = node[first:last], word[first:last]
        places, cells, amounts = place[chunk], cell[chunk], amount[chunk]
        n = 0
        if n_moved[chunk] == last - first:
            for i in range(last - first):
                places[n] = i
                n += is_listed[nodes[i] - base]
        else:
            moves = moved[chunk, : n_moved[chunk]]
            for k in range(moves.shape[0]):
                places[n] = moves[k]
                n += is_listed[nodes[moves[k]] - base]
        for k in range(n):
            cells[k] = cell_of[nodes[places[k]] - base]
            amounts[k] = words[places[k]]
        n_listed[chunk] = n


@kernel
def tally(begin, end, step, n_listed, place, cell, amount, code, offset, hist):
    """Add the words of listed rows to the sums of some features.

    A chunk has its turn with all features before the next one, while its lists are in the cache;
    four features at a time, or two: what a row needs is loaded once.
    """
    for chunk in range(n_listed.shape[0]):
        n, first, last = n_listed[chunk], chunk * step, (chunk + 1) * step
        places, starts, words = place[chunk, :n], cell[chunk, :n], amount[chunk, :n]
        feature = begin
        while feature + 4 <= end:
            cells0, cells1 = hist[offset[feature] :], hist[offset[feature + 1] :]
            cells2, cells3 = hist[offset[feature + 2] :], hist[offset[feature + 3] :]
            codes0, codes1 = code[feature, first:last], code[feature + 1, first:last]
            codes2, codes3 = code[feature + 2, first:last], code[feature + 3, first:last]
            for i in range(n):
                at, start, own = places[i], np.uint64(starts[i]), words[i]
                cells0[np.uint64(codes0[at]) + start] += own
                cells1[np.uint64(codes1[at]) + start] += own
                cells2[np.uint64(codes2[at]) + start] += own
                cells3[np.uint64(codes3[at]) + start] += own
            feature += 4
        while feature + 2 <= end:
            cells0, cells1 = hist[offset[feature] :], hist[offset[feature + 1] :]
            codes0, codes1 = code[feature, first:last], code[feature + 1, first:last]
            for i in range(n):
                at, start, own = places[i], np.uint64(starts[i]), words[i]
                cells0[np.uint64(codes0[at]) + start] += own
                cells1[np.uint64(codes1[at]) + start] += own
            feature += 2
        if feature < end:
            cells0, codes0 = hist[offset[feature] :], code[feature, first:last]
            for i in range(n):
                cells0[np.uint64(codes0[places[i]]) + np.uint64(starts[i])] += words[i]


@kernel
def subtract(begin, end, whole, part, hist):
    """Take the sums at part[i] from those at whole[i]."""
    for i in range(begin, end):
        own, less = hist[whole[i]], hist[part[i]]
        for cell in range(own.shape[0]):
            own[cell] -= less[cell]
