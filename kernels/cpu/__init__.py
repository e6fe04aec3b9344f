"""Compiled loops for the CPU: serial, free of the interpreter lock, each over a range of items.

Whoever calls them hands out ranges to threads; no two ranges write to the same place, so the
number of threads cannot change a result.
"""
