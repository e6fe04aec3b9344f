"""The mixing of random keys, written once: for NumPy arrays and compiled for CPU and CUDA.

The constants are those of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
generators).
"""

import numpy as np

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
ONE, HIGH, MIDDLE, LOW = np.uint64(1), np.uint64(30), np.uint64(27), np.uint64(31)


def mix(key, draw):
    """A random 64-bit number for a key and the number of a draw; sums and products wrap around."""
    z = key + (draw + ONE) * STEP
    z = (z ^ (z >> HIGH)) * FIRST
    z = (z ^ (z >> MIDDLE)) * SECOND
    return z ^ (z >> LOW)
