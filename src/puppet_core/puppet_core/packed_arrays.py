# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Many small arrays as one argument of a kernel.

A call from Python into a compiled kernel costs time for every array it passes, also for those
inside named tuples, and for a model of forty arrays more than its arithmetic. A structured
array of one row costs as much as a single array, whatever it holds. Python writes and reads
it through ordinary views; a kernel puts the named tuple that its callees take together again,
which costs nothing there:

    @kernel
    def body_arrays(record) -> BodyArrays:
        return BodyArrays(record.rotations[:], record.root[:])

    @kernel
    def step(packed, dt):
        advance(body_arrays(packed[0].body), dt)

The `[:]` turns a field into a plain contiguous array, so that `advance` is compiled for that
one layout and not for every record's. Shapes are part of the array's type: each combination
compiles the kernel anew, so what differs from run to run does not belong here.

"""

from typing import Any, TypeVar

import numpy as np

Named = TypeVar('Named', bound=tuple)
_RECORD_TYPES: dict[np.dtype, np.dtype] = {}
"""Every record type once: a call compares the very type at once, an equal one field by field."""
_KINDS = ('float64', 'int64', 'uint8')  # the compiler knows no field of many bools


def pack_arrays(example: Named) -> tuple[np.ndarray, Named]:
    """
    Return a structured array of one row with the fields of a named tuple, and views on it.

    Parameters
    ----------
    example : NamedTuple
        Arrays of float64, int64 or uint8 and of any shape but empty, numbers of these types
        or bool, and named tuples of such. It is copied from, not kept.

    Returns
    -------
    packed : ndarray, shape (1,)
        What kernels take; `packed[0]` is the record. Fields are contiguous and aligned.
    views : NamedTuple
        Of the example's class: each array a view on its field. A number becomes an array of
        shape () that is set by `views.number[()] = 1.0`.

    Raises
    ------
    ValueError : if a field is empty or of another type.

    """
    packed = np.zeros(1, dtype=_record_type(example))
    views = _views(packed, example)
    _copy(example, views)
    return packed, views


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
        is_group = isinstance(value, tuple)
        parts.append(_views(field, value) if is_group else field.reshape(np.shape(value)))
    return type(example)._make(parts)


def _copy(source: Any, views: Any) -> None:
    for value, view in zip(source, views):
        if isinstance(value, tuple):
            _copy(value, view)
        else:
            view[...] = value
