# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How the kernels of a frame are compiled: `kernel`, arrays on the stack, packed arguments.

A kernel neither makes nor keeps arrays, so it need not count who holds one; an `array_kernel`
makes them, for linear algebra. Division by zero gives infinity or NaN, as in C. Working space is
from `work_array`, and `copy` copies. Never return a tuple that holds an argument, which a caller
that does count would let go of twice.
"""

from collections.abc import Callable
from typing import Any, cast, TYPE_CHECKING, TypeVar

from numba import njit, types
from numba.core import cgutils, event
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array
import numpy as np
from puppet_core.math.arrays import Floats
from puppet_core.math.kernel_cache import KernelCache

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

Function = TypeVar('Function', bound=Callable[..., object])
_OPTIONS: dict[str, Any] = {'error_model': 'numpy', 'no_cfunc_wrapper': True, '_nrt': False}

Named = TypeVar('Named', bound=tuple)

_KINDS = ('float64', 'int64', 'uint8')  # the compiler knows no field of many bools


def kernel(function: Function) -> 'Dispatcher[Function]':
    return _cached(njit(**_OPTIONS)(function))


def array_kernel(function: Function) -> 'Dispatcher[Function]':
    """Compile what makes arrays, for numpy's linear algebra; `kernel`s may call it."""
    return _cached(njit(**_OPTIONS | {'_nrt': True})(function))


def _cached(dispatcher: 'Dispatcher[Function]') -> 'Dispatcher[Function]':
    # as `cache=True` sets numba's own
    dispatcher._cache = KernelCache(dispatcher.py_func)  # type: ignore[attr-defined]
    return dispatcher


def on_first_compilation(act: Callable[[], None]) -> None:
    """Call back once, when a kernel is compiled because the cache does not have it."""
    waiting = [act]

    class First(event.Listener):
        def on_start(self, _: event.Event) -> None:
            if waiting:
                waiting.pop()()

        def on_end(self, _: event.Event) -> None:
            pass

    event.register('numba:compile', First())


@kernel
def copy(values: Floats | tuple[float, ...], out: Floats) -> None:
    """Write values, shape (n,), to an array of the same shape."""
    for i in range(len(out)):
        out[i] = values[i]


# Small working arrays of a kernel on its stack.
#
# `np.empty(3)` inside a kernel asks the heap for memory, which takes longer than most of what is
# done with three numbers. These arrays lie on the stack, where the compiler may keep them in
# registers. They hold anything at first, and live as long as the kernel that made them runs: it
# must not return or store them. Each call in the kernel's text is one array, so in a loop it is
# the same one every time. Sizes are written as numbers in place.


def _on_stack(sizes: tuple[Any, ...]) -> tuple[Any, Any] | None:
    """Return signature and code of an array whose sizes are literal types."""
    if not all(isinstance(size, types.IntegerLiteral) for size in sizes):
        return None
    shape = tuple(size.literal_value for size in sizes)
    array_type = types.Array(types.float64, len(shape), 'C')

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = context.get_data_type(types.float64)
        room = cgutils.alloca_once(builder, cgutils.ir.ArrayType(number, int(np.prod(shape))))
        strides = [8 * int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
        lengths, steps, (width,) = (
            [context.get_constant(types.intp, value) for value in values]
            for values in (shape, strides, [8])
        )
        array = make_array(array_type)(context, builder)
        data = builder.bitcast(room, array.data.type)
        populate_array(array, data, lengths, steps, width, meminfo=None)
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
        return np.empty(sizes)


_row.__class__ = _table.__class__ = _AlsoInPython
work_array = cast(Callable[[int], Floats], _row)
"""Return an array of shape (n,)."""
work_table = cast(Callable[[int, int], Floats], _table)
"""Return an array of shape (rows, columns)."""


_RECORD_TYPES: dict[np.dtype, np.dtype] = {}
"""Every record type once: a call compares the very type at once, an equal one field by field."""


# Many small arrays as one argument of a kernel.
#
# A call from Python into a compiled kernel costs time for every array it passes, also for those
# inside named tuples. A structured array of one row costs as much as a single array, whatever it
# holds. Python writes and reads it through ordinary views; a kernel reads and writes the record's
# fields by their names, and passes it on, or a part of it, as one pointer: `go(packed[0].body)`.
# The class of the named tuple that was packed stands for it in annotations.
#
# A field is an array of one shape; `field[:]` is one of any, for callees that are to be compiled
# once for all. Shapes are part of the array's type: each combination compiles the kernel anew, so
# what differs from run to run does not belong here.


def pack_arrays(example: Named) -> tuple[np.ndarray, Named]:
    """
    Return a structured array of one row with the fields of a named tuple, and views on it.

    The example has arrays of float64, int64 or uint8 of any shape but empty, numbers of these
    types or bool, and named tuples of such. Kernels take the array; the views are a named tuple of
    the example's class. Raise ValueError if a field is empty or of another type.
    """
    packed = np.zeros(1, dtype=_record_type(example))
    return packed, _views(packed, example)


def _record_type(example: Any) -> np.dtype:
    fields: list[Any] = []
    for name, value in zip(example._fields, example):
        if isinstance(value, tuple):
            fields.append((name, _record_type(value)))
            continue
        array = np.asarray(value)
        is_flag = array.ndim == 0 and array.dtype.name == 'bool'
        if array.size == 0 or not (is_flag or array.dtype.name in _KINDS):
            raise ValueError(
                f'{name}: expected numbers of {", ".join(_KINDS)}, '
                f'got {array.dtype.name} of shape {array.shape}'
            )
        fields.append((name, array.dtype, array.shape))
    record_type = np.dtype(fields, align=True)
    return _RECORD_TYPES.setdefault(record_type, record_type)


def _views(packed: np.ndarray, example: Any) -> Any:
    parts = []
    for name, value in zip(example._fields, example):
        field = packed[name]  # (1,) + shape
        if isinstance(value, tuple):
            parts.append(_views(field, value))
        else:
            field[...] = value
            parts.append(field.reshape(np.shape(value)))
    return type(example)._make(parts)
