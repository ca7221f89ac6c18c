# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The exception tree: one class per reaction a caller can have, and how messages are worded."""

from pathlib import Path


class PuppetError(Exception):
    """Base of all errors of the suite that a user can cause or correct."""


class ConfigError(PuppetError, ValueError):
    """A parameter, argument or array does not have the promised form."""


class CalibrationError(PuppetError):
    """A calibration recording cannot be used; the text says why."""


class SolverError(PuppetError):
    """A solver was asked for something it does not know."""


class InputFileError(PuppetError, ValueError):
    """
    A file's content is not what its format promises.

    What was expected and got in which file, its line from 1 and the field if known; a hint is what
    is available, or what to do.
    """

    def __init__(
        self,
        path: str | Path,
        expected: str,
        got: str,
        line: int | None = None,
        field: str | None = None,
        hint: str = '',
    ) -> None:
        self.path = Path(path)
        self.line = line
        self.field = field
        place = f'{path}:{line}' if line is not None else f'{path}'
        name = f' {field}:' if field else ''
        tail = f'; {hint}' if hint else ''
        super().__init__(f'{place}:{name} expected {expected}, got {got}{tail}')
