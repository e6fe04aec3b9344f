"""Kernels for NVIDIA GPUs, made by factories so that tests may use small blocks.

`gpu` is the only module that imports numba.cuda. A kernel takes flat, contiguous arrays; what is
true of all of them: integer sums only, in shared memory 32-bit ones; no float is summed in an order
that the block size could change. Arguments have the same names everywhere; docstrings tell of all
others.

hist, stride, offset
    Sums of nodes, `stride` entries each; offset[f] is the first bin of feature f.
is_classes, n_scored, counts_rows, n_channels, unit
    What channels are, as `shape` and `unit` of `kernels.cpu`.
trimmed_of, score_of, key_of
    The best candidate of each pair of a node and a feature; its key tells code and side.
tile, group, TILE_COLUMNS, GROUP_COLUMNS
    Tables of tiles (rows of one node) and of groups (features whose sums fit into shared memory).
words, row_words
    Codes by row in 32-bit words, and how many a row has.
label, limb, limbs
    What rows add: class; parts of 17 bits of weights and targets, and a table of what these are.
one_plane, one_channel, one_step
    Where each row adds 1, and how much further for each class.
column, threshold, missing_slot, first_child, category_start, category, category_slot
    The nodes of all trees, as in `Stack`; `root` is the first of each tree.
"""
