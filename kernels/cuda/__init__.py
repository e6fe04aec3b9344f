"""Kernels for NVIDIA GPUs, made by factories so that tests may use small blocks.

`gpu` is the only module that imports numba.cuda. A kernel takes flat, contiguous arrays; what is
true of all of them: integer sums only, in shared memory 32-bit ones; no float is summed in an order
that the block size could change.
"""
