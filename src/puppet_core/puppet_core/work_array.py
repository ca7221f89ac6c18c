# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Small working arrays of a kernel on its stack.

`np.empty(3)` inside a kernel asks the heap for memory, which takes longer than most of what is
done with three numbers; a frame has hundreds of them. These arrays lie on the stack, where the
compiler may keep them in registers:

    @kernel
    def step(q, v, out):
        work = work_array(3)
        rotate(q, v, work)

They hold anything at first, and live as long as the kernel that made them runs: it must not
return them or store them in anything that outlives it. Each call in the kernel's text is one
array, so in a loop it is the same one every time. Sizes are written as numbers in place.

"""

from collections.abc import Callable
from typing import Any, cast

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array
import numpy as np
from puppet_core.arrays import Floats


def _on_stack(sizes: tuple[Any, ...]) -> tuple[Any, Any] | None:
    """Return signature and code of an array whose sizes are literal types."""
    if not all(isinstance(size, types.IntegerLiteral) for size in sizes):
        return None
    shape = tuple(size.literal_value for size in sizes)
    array_type = types.Array(types.float64, len(shape), 'C')

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = context.get_data_type(types.float64)
        room = cgutils.alloca_once(builder, cgutils.ir.ArrayType(number, int(np.prod(shape))))
        width = 8
        strides = [width * int(np.prod(shape[axis + 1:])) for axis in range(len(shape))]
        array = make_array(array_type)(context, builder)
        populate_array(
            array,
            data=builder.bitcast(room, array.data.type),
            shape=[context.get_constant(types.intp, size) for size in shape],
            strides=[context.get_constant(types.intp, stride) for stride in strides],
            itemsize=context.get_constant(types.intp, width),
            meminfo=None,
        )
        return array._getvalue()

    return array_type(*sizes), codegen


@intrinsic(prefer_literal=True)
def _row(typing_context, n):  # type: ignore[no-untyped-def]
    return _on_stack((n,))


@intrinsic(prefer_literal=True)
def _table(typing_context, rows, columns):  # type: ignore[no-untyped-def]
    return _on_stack((rows, columns))


class _AlsoInPython(type(_row)):  # type: ignore[misc]
    """An intrinsic that plain Python can call too, as tests do with uncompiled kernels."""

    def __call__(self, *sizes: int) -> Any:
        """Return an array of the shape."""
        return np.empty(sizes)


_row.__class__ = _table.__class__ = _AlsoInPython
work_array = cast(Callable[[int], Floats], _row)
"""Return an array of shape (n,)."""
work_table = cast(Callable[[int, int], Floats], _table)
"""Return an array of shape (rows, columns)."""
