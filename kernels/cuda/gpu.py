"""The one door to numba.cuda: compiling, warps, wide loads, multiplication that is never fused.

Every primitive has two bodies, one for the compiler and one for numba's simulator, which runs a
kernel as Python with a thread for each of its threads. The contract of the warp primitives is that
of the second body: every thread of a block calls them equally often.
"""

import sys
import threading
from types import SimpleNamespace

import numpy as np
from numba import cuda
from numba.core import config

from gputree.kernels import criteria
from gputree.kernels import losses as loss_formulas
from gputree.kernels.mixing import make_mix

__all__ = [
    "MOST_WARPS",
    "SIMULATED",
    "WARP",
    "ballot",
    "bits_of",
    "block_largest",
    "block_scan",
    "block_total",
    "cuda",
    "float_of",
    "formulas",
    "function",
    "kernel",
    "lanes_below",
    "last_lane",
    "load_now",
    "load_words",
    "losses",
    "mixed",
    "multiply",
    "nearest",
    "other_lane",
    "scan",
    "short_bits_of",
    "sync_warp",
    "total",
]

MOST_WARPS = 32  # of a block

SIMULATED = bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]

if SIMULATED:
    from numba.core import types
    from numba.cuda.simulator.kernel import _get_kernel_context
    from numba.cuda.simulator.kernelapi import FakeCUDAShared
    from numba.np.numpy_support import as_dtype

    # Threads of the simulator are slow to start; nothing depends on how many make a warp.
    WARP = 4

    _making = threading.Lock()

    def _shared_array(self, shape, dtype):
        """Shared memory that all threads of a block find, whoever asks first.

        The simulator's own does not wait: two threads that come at once get an array each.
        """
        kind = as_dtype(dtype) if isinstance(dtype, types.Type) else np.dtype(dtype)
        if shape == 0:
            return np.frombuffer(self._dynshared, kind, self._dynshared_size // kind.itemsize)
        frame = sys._getframe(1)
        line = frame.f_code.co_filename, frame.f_lineno
        with _making:
            if line not in self._allocations:
                self._allocations[line] = np.empty(shape, kind)
        return self._allocations[line]

    FakeCUDAShared.array = _shared_array  # type: ignore[method-assign]

    def kernel(function):
        """A kernel."""
        return cuda.jit(function)

    def function(body):
        """A function called by kernels."""
        return body

    def _meet(value):
        """The values of all threads of the caller's block, and the caller's number."""
        thread = threading.current_thread()
        number = thread.threadIdx.x
        # The next exchange of the block has a board of its own: one barrier is enough.
        thread.turn = getattr(thread, "turn", 0) + 1
        boards = _get_kernel_context().__dict__.setdefault("_boards", {})
        board = boards.setdefault((tuple(thread.blockIdx), thread.turn), {})
        board[number] = value
        thread.syncthreads()
        return board, number

    def _exchange(value):
        """The values of all threads of the caller's warp, and the caller's place among them."""
        board, number = _meet(value)
        first = number - number % WARP
        return [board[first + lane] for lane in range(WARP)], number % WARP

    def block_scan(value, board):
        """The sum of the values of this thread of a block and those below it, and that of all.

        `board` is shared memory with a word for each warp.
        """
        values, number = _meet(value)
        return sum(values[i] for i in range(number + 1)), sum(values.values())

    def block_largest(own, board):
        """The largest of the values of a block, none of them negative; for its first thread.

        `board` is shared memory with a word for each warp.
        """
        return max(_meet(own)[0].values())

    def block_total(own, board):
        """The sum of the values of all threads of a block; for its first thread."""
        return sum(_meet(own)[0].values())

    def scan(value):
        """The sum of the values of this lane and those below it."""
        values, lane = _exchange(value)
        return sum(values[: lane + 1])

    def total(value):
        """The sum of the values of all lanes."""
        return sum(_exchange(value)[0])

    def other_lane(value, distance):
        """The value of the lane whose number differs by the bit `distance`."""
        values, lane = _exchange(value)
        return values[lane ^ distance]

    def last_lane(value):
        """The value of the last lane."""
        return _exchange(value)[0][-1]

    def ballot(test):
        """A bit for each lane where the test holds."""
        values, _ = _exchange(bool(test))
        return np.uint32(sum(1 << lane for lane, is_set in enumerate(values) if is_set))

    def lanes_below(lane):
        """The bits of the lanes below one."""
        return np.uint32((1 << int(lane)) - 1)

    def sync_warp():
        """What lanes of a warp wrote to shared memory is seen by all of them."""
        threading.current_thread().syncthreads()

    def load_words(words, at):
        """Four neighbouring 32-bit words, 16-byte aligned."""
        return words[at], words[at + 1], words[at + 2], words[at + 3]

    def load_now(array, at):
        """An integer that other threads may be changing by atomics."""
        return array[at]

    def multiply(a, b):
        """The product, rounded once and never fused with an addition."""
        return a * b

    def bits_of(x):
        """The bits of a float64 as an integer."""
        return np.float64(x).view(np.int64)

    def short_bits_of(x):
        """The bits of a float32 as an integer."""
        return np.float32(x).view(np.int32)

    def float_of(bits):
        """The float64 of some bits."""
        return np.int64(bits).view(np.float64)

    _mix = make_mix(function, np.uint64)

    def mixed(key, draw):
        """A random 64-bit number for a key and the number of a draw."""
        with np.errstate(over="ignore"):
            return _mix(key, draw)

    def nearest(x):
        """The nearest whole number, as a float64; of two the even one."""
        return np.rint(x)

    def _split(x):
        word = np.float64(x).view(np.int64)
        fraction = np.int64((word & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
        return fraction, np.float64((word >> 52) - 1023)

    def _power(t):
        word = (np.float64(t).view(np.int64) << 52) + 0x3FF0000000000000
        return np.int64(word).view(np.float64)

else:
    from llvmlite import ir
    from numba.core import types
    from numba.cuda import libdevice
    from numba.cuda.extending import intrinsic

    WARP = 32
    EVERY_LANE = 0xFFFFFFFF

    def kernel(function):
        """A kernel, compiled on first use for the types it is called with.

        It is not optimized once more when it is linked: what runs is what the tests have seen.
        """
        return cuda.jit(function, lto=False)

    def function(body):
        """A function called by kernels."""
        return cuda.jit(device=True, forceinline=True)(body)

    @function
    def scan(value):
        """The sum of the values of this lane and those below it."""
        lane = cuda.laneid
        value = np.int64(value)
        distance = 1
        while distance < WARP:
            below = cuda.shfl_up_sync(EVERY_LANE, value, distance)
            if lane >= distance:
                value += below
            distance *= 2
        return value

    @function
    def total(value):
        """The sum of the values of all lanes."""
        value = np.int64(value)
        distance = 1
        while distance < WARP:
            value += cuda.shfl_xor_sync(EVERY_LANE, value, distance)
            distance *= 2
        return value

    @function
    def block_scan(value, board):
        """The sum of the values of this thread of a block and those below it, and that of all.

        `board` is shared memory with a word for each warp.
        """
        thread, n_warps = cuda.threadIdx.x, cuda.blockDim.x // WARP
        warp = thread // WARP
        own = scan(value)
        if thread % WARP == WARP - 1:
            board[warp] = own
        cuda.syncthreads()
        of_warps = scan(board[thread] if thread < n_warps else np.int64(0))
        cuda.syncthreads()
        if thread < n_warps:
            board[thread] = of_warps
        cuda.syncthreads()
        below = board[warp - 1] if warp > 0 else np.int64(0)
        whole = board[n_warps - 1]
        cuda.syncthreads()
        return below + own, whole

    @function
    def other_lane(value, distance):
        """The value of the lane whose number differs by the bit `distance`."""
        return cuda.shfl_xor_sync(EVERY_LANE, value, distance)

    @function
    def block_largest(own, board):
        """The largest of the values of a block, none of them negative; for its first thread."""
        distance = 1
        while distance < WARP:
            own = max(own, other_lane(own, distance))
            distance *= 2
        thread = np.uint32(cuda.threadIdx.x)
        if thread % WARP == 0:
            board[np.uint32(thread // WARP)] = own
        cuda.syncthreads()
        if thread == 0:
            warp, n_warps = np.uint32(1), np.uint32(cuda.blockDim.x // WARP)
            while warp < n_warps:
                own = max(own, board[warp])
                warp = np.uint32(warp + 1)
        cuda.syncthreads()  # the board is free again
        return own

    @function
    def block_total(own, board):
        """The sum of the values of all threads of a block; for its first thread."""
        own = total(own)
        thread = np.uint32(cuda.threadIdx.x)
        if thread % WARP == 0:
            board[np.uint32(thread // WARP)] = own
        cuda.syncthreads()
        if thread == 0:
            warp, n_warps = np.uint32(1), np.uint32(cuda.blockDim.x // WARP)
            while warp < n_warps:
                own += board[warp]
                warp = np.uint32(warp + 1)
        cuda.syncthreads()  # the board is free again
        return own

    @function
    def last_lane(value):
        """The value of the last lane."""
        return cuda.shfl_sync(EVERY_LANE, value, WARP - 1)

    @function
    def ballot(test):
        """A bit for each lane where the test holds."""
        return np.uint32(cuda.ballot_sync(EVERY_LANE, test))

    @function
    def lanes_below(lane):
        """The bits of the lanes below one."""
        return np.uint32((np.uint32(1) << np.uint32(lane)) - np.uint32(1))

    @function
    def sync_warp():
        """What lanes of a warp wrote to shared memory is seen by all of them."""
        cuda.syncwarp()

    @intrinsic
    def _load_words(typingctx, words, at):
        """Four neighbouring 32-bit words by one load of 128 bits, past the first-level cache."""
        result = types.UniTuple(types.uint32, 4)

        def generate(context, builder, signature, args):
            array = context.make_array(signature.args[0])(context, builder, args[0])
            address = builder.gep(array.data, [args[1]])
            word = ir.IntType(32)
            returned = ir.LiteralStructType([word] * 4)
            kind = ir.FunctionType(returned, [address.type])
            load = ir.InlineAsm(
                kind,
                "ld.global.nc.v4.u32 {$0, $1, $2, $3}, [$4];",
                "=r,=r,=r,=r,l",
                side_effect=False,
            )
            loaded = builder.call(load, [address])
            parts = [builder.extract_value(loaded, i) for i in range(4)]
            return context.make_tuple(builder, result, parts)

        return result(words, at), generate

    @function
    def load_words(words, at):
        """Four neighbouring 32-bit words, 16-byte aligned."""
        return _load_words(words, at)

    @intrinsic
    def _load_now(typingctx, array, at):
        """An integer as it is in memory by now, not as it was when somebody last asked."""
        n_bits = array.dtype.bitwidth

        def generate(context, builder, signature, args):
            memory = context.make_array(signature.args[0])(context, builder, args[0])
            address = builder.gep(memory.data, [args[1]])
            kind = ir.FunctionType(ir.IntType(n_bits), [address.type])
            register = "l" if n_bits == 64 else "r"
            load = ir.InlineAsm(
                kind,
                f"ld.relaxed.gpu.global.b{n_bits} $0, [$1];",
                f"={register},l",
                side_effect=True,
            )
            return builder.call(load, [address])

        return array.dtype(array, at), generate

    @function
    def load_now(array, at):
        """An integer that other threads may be changing by atomics."""
        return _load_now(array, at)

    @function
    def multiply(a, b):
        """The product, rounded once and never fused with an addition."""
        return libdevice.dmul_rn(a, b)

    @function
    def bits_of(x):
        """The bits of a float64 as an integer."""
        return libdevice.double_as_longlong(x)

    @function
    def short_bits_of(x):
        """The bits of a float32 as an integer."""
        return libdevice.float_as_int(x)

    @function
    def float_of(bits):
        """The float64 of some bits."""
        return libdevice.longlong_as_double(bits)

    mixed = make_mix(function, np.uint64)

    @function
    def nearest(x):
        """The nearest whole number, as a float64; of two the even one."""
        return libdevice.rint(x)

    @function
    def _split(x):
        word = libdevice.double_as_longlong(x)
        fraction = libdevice.longlong_as_double((word & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000)
        return fraction, np.float64((word >> 52) - 1023)

    @function
    def _power(t):
        word = (libdevice.double_as_longlong(t) << 52) + 0x3FF0000000000000
        return libdevice.longlong_as_double(word)


@function
def _select(test, a, b):
    return a if test else b


_OPERATIONS = SimpleNamespace(mul=multiply, select=_select, split=_split, power=_power)


def formulas():
    """The formulas of `criteria` for kernels."""
    return criteria.compile_for(function, _OPERATIONS)


def losses():
    """What the formulas of `losses` are made of in kernels."""
    return loss_formulas.tools_for(function, _OPERATIONS)
