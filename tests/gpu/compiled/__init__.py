"""What the compiler makes of the kernels in kernels/cuda, for every architecture, without a GPU.

`python -m tests.gpu.compiled` shows registers and occupancy; `--write` makes budget.json and the
table in docs/gpu.md anew. It needs numba-cuda, ptxas and nvdisasm, and no driver.
"""
