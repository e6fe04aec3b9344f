"""How many threads of a kernel a multiprocessor holds at once."""

from dataclasses import dataclass

WARP = 32
REGISTERS = 65_536  # of a multiprocessor
REGISTER_UNIT = 256  # registers come to a warp in units
PARTITIONS = 4  # of a multiprocessor; each has its share of registers and of warps


@dataclass(frozen=True)
class Limits:
    """What a multiprocessor has."""

    threads: int
    blocks: int
    shared: int  # bytes
    reserved: int = 1024  # bytes of shared memory that the system takes of each block
    shared_unit: int = 128  # bytes


# NVIDIA, CUDA C++ Programming Guide, "Technical specifications per compute capability"; units as in
# cuda_occupancy.h of the CUDA toolkit 13.4.
LIMITS = {
    "sm_75": Limits(1024, 16, 64 * 1024, reserved=0, shared_unit=256),
    "sm_80": Limits(2048, 32, 164 * 1024),
    "sm_89": Limits(1536, 24, 100 * 1024),
    "sm_90": Limits(2048, 32, 228 * 1024),
    "sm_100": Limits(2048, 32, 228 * 1024),
    "sm_120": Limits(1536, 24, 100 * 1024),
}


def occupancy(architecture: str, threads: int, registers: int, shared: int) -> float:
    """The share of a multiprocessor's threads that blocks of a kernel can fill."""
    limits = LIMITS[architecture]
    own_registers = _round_up(registers * WARP, REGISTER_UNIT)
    warps_held = REGISTERS // PARTITIONS // own_registers * PARTITIONS
    own_shared = _round_up(shared + limits.reserved, limits.shared_unit)
    blocks = min(
        limits.blocks,
        limits.threads // threads,
        warps_held // (threads // WARP),
        limits.shared // own_shared if own_shared else limits.blocks,
    )
    return blocks * threads / limits.threads


def _round_up(n: int, unit: int) -> int:
    return -(-n // unit) * unit
