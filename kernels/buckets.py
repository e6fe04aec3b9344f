"""Buckets of the number line: the leading bits of a value rounded to float32, put in order.

Rounding to float32 is monotone, so a value in a higher bucket is larger. 18 bits are the sign, the
exponent and 9 bits of the fraction: a column of a million values fills thousands of buckets, so
few values share one with a cut, and the counts of a column still fit into a cache. Where values
crowd into few buckets, the next 8 bits divide each into a page of fine ones.
"""

BUCKET_BITS = 18
BUCKETS = 2**BUCKET_BITS
PAGE_BITS = 8
PAGE = 2**PAGE_BITS  # fine buckets in a bucket
FINE_BUCKETS = BUCKETS * PAGE


def ordered_bucket(bits):
    """The bucket from the bits of a float32 read as an int32; of a scalar or an array.

    The bits of a negative float grow with its magnitude; flipping them puts all floats in order.
    """
    return ((bits ^ ((bits >> 31) & 0x7FFFFFFF)) >> (32 - BUCKET_BITS)) + BUCKETS // 2


def ordered_fine_bucket(bits):
    """The fine bucket, likewise; it is in bucket `ordered_fine_bucket(bits) // PAGE`."""
    shift = 32 - BUCKET_BITS - PAGE_BITS
    return ((bits ^ ((bits >> 31) & 0x7FFFFFFF)) >> shift) + FINE_BUCKETS // 2
