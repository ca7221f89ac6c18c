# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How the kernels of a frame are compiled.

A kernel works on arrays that its caller holds, and neither makes nor keeps any. So it need not
count who holds an array: compiled code otherwise does that at every slice, which takes as long as
what is done with the three numbers. Division by zero gives infinity or NaN, as in C, without a
check for an exception.

Working space is from `work_array`, and `copy` copies, since `a[:] = b` may want memory. A kernel
that wants memory, or returns an array that it was not given, is refused by the compiler. Only
tuples are not looked into: never return one that holds an argument, which a caller that does
count would then let go of twice. What a kernel calls is compiled in the same way unless it says
otherwise.

"""

from collections.abc import Callable
from typing import Any, TYPE_CHECKING, TypeVar

from numba import njit
from puppet_core.arrays import Floats

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

Function = TypeVar('Function', bound=Callable[..., object])
_OPTIONS: dict[str, Any] = {'cache': True, 'error_model': 'numpy', '_nrt': False}


def kernel(function: Function) -> 'Dispatcher[Function]':
    """Return the compiled function."""
    return njit(**_OPTIONS)(function)


@kernel
def copy(values: Floats, out: Floats) -> None:
    """Write values, shape (n,), to an array of the same shape."""
    for i in range(len(out)):
        out[i] = values[i]
