"""Buckets of the number line: the leading bits of a value rounded to float32, put in order.

Rounding to float32 is monotone, so a value in a higher bucket is larger. 18 bits are the sign, the
exponent and 9 bits of the fraction: a column of a million values fills thousands of buckets, so
few values share one with a cut, and the counts of a column still fit into a cache.
"""

BUCKET_BITS = 18
BUCKETS = 2**BUCKET_BITS


def ordered_bucket(bits):
    """The bucket from the bits of a float32 read as an int32; of a scalar or an array.

    The bits of a negative float grow with its magnitude; flipping them puts all floats in order.
    """
    return ((bits ^ ((bits >> 31) & 0x7FFFFFFF)) >> (32 - BUCKET_BITS)) + BUCKETS // 2
