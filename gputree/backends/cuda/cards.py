"""What NVIDIA cards say of themselves, asked through CuPy or through numba.

The only module that reads properties of devices; each reader takes its library as an argument.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

# What 32 lanes that add to random cells of shared memory wait for on average: the fullest bank.
LANES, FULLEST_BANK = 32, 3.53


@dataclass(frozen=True)
class Card:
    """One device. What its driver does not tell is 0."""

    number: int
    name: str
    compute_capability: str
    total_bytes: int
    free_bytes: int
    n_multiprocessors: int
    clock: float  # Hz, the highest of its multiprocessors
    bandwidth: float  # bytes a second of its memory, from clock and bus width

    @property
    def shared_adds(self) -> float:
        """Additions to random cells of shared memory, a second, at most."""
        return self.n_multiprocessors * self.clock * LANES / FULLEST_BANK


@dataclass(frozen=True)
class Machine:
    """The cards of a machine and the software below them."""

    driver: str | None = None  # the newest CUDA that the driver runs
    runtime: str | None = None  # the CUDA that the library brings
    cards: tuple[Card, ...] = ()
    problem: str = ""  # why there is no card


def read_machine() -> Machine:
    """What CuPy says, or numba where CuPy is not installed."""
    if find_spec("cupy") is not None:
        try:
            return by_cupy(import_module("cupy"))
        except ImportError as error:  # raised by CuPy itself where its libraries are missing
            return Machine(problem=_in_a_line(f"CuPy cannot be imported: {error}"))
    if find_spec("numba_cuda") is not None:
        from gputree.kernels.cuda import gpu

        return Machine(problem="CUDA is simulated") if gpu.SIMULATED else by_numba(gpu.cuda)
    return Machine(problem="neither CuPy nor numba-cuda is there to ask for one")


def by_cupy(cupy: Any) -> Machine:
    """What CuPy says."""
    runtime = cupy.cuda.runtime
    try:
        n_cards = runtime.getDeviceCount()
        cards = tuple(_card_by_cupy(cupy, number) for number in range(n_cards))
        driver, own = runtime.driverGetVersion(), runtime.runtimeGetVersion()
    except runtime.CUDARuntimeError as error:  # raised without a driver or a card
        return Machine(problem=_in_a_line(error))
    problem = "" if cards else "CuPy sees none"
    return Machine(_dotted(_parts(driver)), _dotted(_parts(own)), cards, problem)


def _card_by_cupy(cupy: Any, number: int) -> Card:
    properties = cupy.cuda.runtime.getDeviceProperties(number)
    free_bytes, total_bytes = cupy.cuda.Device(number).mem_info
    return Card(
        number=number,
        name=_text(properties["name"]),
        compute_capability=_dotted((properties["major"], properties["minor"])),
        total_bytes=int(total_bytes),
        free_bytes=int(free_bytes),
        n_multiprocessors=int(properties["multiProcessorCount"]),
        clock=1e3 * properties["clockRate"],
        bandwidth=_bandwidth(properties["memoryClockRate"], properties["memoryBusWidth"]),
    )


def by_numba(cuda: Any) -> Machine:
    """What numba says."""
    if not cuda.is_available():
        error = cuda.cuda_error() or "numba finds no driver or no compiler"
        return Machine(problem=_in_a_line(error))
    cards = tuple(_card_by_numba(cuda, gpu) for gpu in cuda.gpus)
    return Machine(
        driver=_dotted(cuda.cudadrv.driver.driver.get_version()),
        runtime=_dotted(cuda.runtime.get_version()),
        cards=cards,
        problem="" if cards else "numba sees none",
    )


def _card_by_numba(cuda: Any, gpu: Any) -> Card:
    with gpu:
        free_bytes, total_bytes = cuda.current_context().get_memory_info()
    return Card(
        number=int(gpu.id),
        name=_text(gpu.name),
        compute_capability=_dotted(gpu.compute_capability),
        total_bytes=int(total_bytes),
        free_bytes=int(free_bytes),
        n_multiprocessors=int(gpu.MULTIPROCESSOR_COUNT),
        clock=1e3 * gpu.CLOCK_RATE,
        bandwidth=_bandwidth(gpu.MEMORY_CLOCK_RATE, gpu.GLOBAL_MEMORY_BUS_WIDTH),
    )


def _bandwidth(kilohertz: int, bus_bits: int) -> float:
    """Bytes a second of a memory that moves data twice a cycle."""
    return 2e3 * kilohertz * bus_bits / 8


def _parts(version: int) -> tuple[int, int]:
    """CUDA's number 12040 is version 12.4."""
    return version // 1000, version % 1000 // 10


def _dotted(parts: Iterable[int]) -> str:
    return ".".join(map(str, parts))


def _in_a_line(error: object) -> str:
    return " ".join(str(error).split())


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name
