"""The mixing of random keys, written once: for NumPy arrays, and compiled for CPU and CUDA.

The constants are those of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
generators).
"""


def make_mix(jit, uint64):
    """The function that mixes; `uint64` makes a constant of a whole number."""
    one, high, middle, low = uint64(1), uint64(30), uint64(27), uint64(31)
    step = uint64(0x9E3779B97F4A7C15)
    first, second = uint64(0xBF58476D1CE4E5B9), uint64(0x94D049BB133111EB)

    @jit
    def mix(key, draw):
        """A random 64-bit number for a key and the number of a draw; products wrap around."""
        z = key + (draw + one) * step
        z = (z ^ (z >> high)) * first
        z = (z ^ (z >> middle)) * second
        return z ^ (z >> low)

    return mix
