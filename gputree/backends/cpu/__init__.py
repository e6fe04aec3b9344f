"""The backend for CPUs, by compiled kernels in threads."""
