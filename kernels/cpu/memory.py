"""Memory that is asked for before it is needed, and how much of it."""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from gputree.kernels.cpu.jit import inner

READ, KEEP, DATA = 0, 3, 1  # what LLVM calls the ways to ask


@intrinsic
def ask_for(typing, array, at):
    """Begin to fetch the cache line of array.flat[at], of an array without gaps, and go on."""

    def generate(context, builder, signature, arguments):
        own = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte = ir.IntType(8).as_pointer()
        address = builder.bitcast(builder.gep(own.data, [arguments[1]]), byte)
        number = ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], shape)
        builder.call(prefetch, [address, number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@inner
def most_of(numbers):
    """The largest of some counts; numba takes half a second to compile NumPy's way."""
    most = numbers[0]
    for i in range(1, numbers.shape[0]):
        most = max(most, numbers[i])
    return most
