# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Array aliases by meaning, and the one border check that numbers pass on their way in."""

from collections.abc import Sequence
import reprlib

import numpy as np
from numpy.typing import ArrayLike, NDArray
from puppet_core.io import ConfigError

Vec3 = NDArray[np.float64]  # shape (3,)
Quat = NDArray[np.float64]  # shape (4,), Hamilton (w, x, y, z), unit
Vec3s = NDArray[np.float64]  # shape (..., n, 3)
Quats = NDArray[np.float64]  # shape (..., n, 4)
Mat6 = NDArray[np.float64]  # shape (6, 6)
Floats = NDArray[np.float64]  # shape (n,) or as documented
Ints = NDArray[np.int64]  # shape (n,) or as documented


def read_only(values: ArrayLike, dtype: type = np.float64) -> NDArray:
    """Return `values` as a contiguous array that refuses writes: a copy, unless it is `frozen`."""
    if (
        type(values) is np.ndarray
        and values.base is None
        and not values.flags.writeable
        and values.flags.c_contiguous
        and values.dtype == dtype
    ):
        return values
    array: NDArray = np.array(values, dtype=dtype, order='C')
    array.setflags(write=False)
    return array


def frozen(array: NDArray) -> NDArray:
    """Return an array that its maker gives away, without a view of it, refusing writes."""
    array.setflags(write=False)
    return array


def check_array(name: str, values: ArrayLike, shape: Sequence[int | None]) -> Floats:
    """
    Return `values` as a contiguous float64 array, the input itself where it already fits.

    None in the shape stands for any length along that axis. Raise ConfigError, opened by the name,
    if the shape differs or an element is not finite.
    """
    array = check_shape(name, values, shape)
    if not np.all(np.isfinite(array)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ConfigError(f'{name}: expected finite numbers, got {array[where]} at {where}')
    return array


def check_shape(name: str, values: ArrayLike, shape: Sequence[int | None]) -> Floats:
    """Return what `check_array` does, of numbers that need not be finite."""
    try:
        array = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise ConfigError(f'{name}: expected numbers, got {reprlib.repr(values)}') from err
    fits = array.ndim == len(shape) and all(
        want is None or want == got for want, got in zip(shape, array.shape)
    )
    if not fits:
        wanted = '(' + ', '.join('any' if n is None else str(n) for n in shape) + ')'
        raise ConfigError(f'{name}: expected shape {wanted}, got {array.shape}')
    return array
