# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Where compiled kernels are kept: those that came with the package first, then numba's own cache.

A wheel has a folder `kernels/LEVEL/` beside each source file, for processors of that level
(x86-64-v3 has AVX2 and FMA, x86-64-v2 SSE 4.2). Its kernels are used if numba, Python and source
are those that they were compiled by and from; whatever is missing is compiled here.
`./puppet dev wheel` fills the folders.
"""

from contextlib import suppress
from functools import lru_cache
import os
from pathlib import Path
from typing import Any

from numba.core import caching
from numba.core.codegen import get_host_cpu_features

LEVELS = {
    'x86-64-v3': ('avx2', 'bmi', 'bmi2', 'f16c', 'fma', 'lzcnt', 'movbe'),
    'x86-64-v2': ('popcnt', 'sse4.2', 'ssse3'),
}
"""What a processor needs for kernels of a level, the best first."""
SHIP = 'PUPPET_SHIP_KERNELS'  # the level for which kernels are put beside their sources


@lru_cache
def level() -> str:
    """Return the level whose kernels are used here; empty if there is none."""
    asked_for = os.environ.get(SHIP, '')
    if asked_for:
        return asked_for
    features = get_host_cpu_features().split(',')  # as +avx2,-sse4a
    fitting = (k for k, needed in LEVELS.items() if {f'+{name}' for name in needed} <= {*features})
    return next(fitting, '')


class _Beside(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
    """The folder of kernels beside a source file."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(Path(self._py_file).parent / 'kernels' / level())

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> '_Beside | None':
        found = cls(py_func, py_file)
        is_there = level() and (SHIP in os.environ or Path(found.get_cache_path()).is_dir())
        return found if is_there else None


class _BesideImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_Beside]


class _Shipped(caching.FunctionCache):
    _impl_class = _BesideImpl

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """Return numba's key with the level in place of this very processor."""
        signature, _, function = super()._index_key(sig, codegen)
        return signature, level(), function


class KernelCache(caching.FunctionCache):
    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._shipped: _Shipped | None = None
        with suppress(RuntimeError):  # no such folder
            self._shipped = _Shipped(py_func)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._shipped and self._shipped._load_overload(sig, target_context)
        found = found or self._load_overload(sig, target_context)
        if found is None:
            # numba's registries of functions: half a second that what is linked does not need
            target_context.refresh()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._shipped and SHIP in os.environ:
            self._shipped.save_overload(sig, data)
        else:
            super().save_overload(sig, data)
