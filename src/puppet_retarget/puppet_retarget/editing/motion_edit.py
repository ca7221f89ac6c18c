# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The motion editor of LeeShin1999: constraints met, the detail of the motion kept."""

from collections.abc import Callable, Sequence

from puppet_core.posture import Motion
from puppet_retarget.editing.constraints import Constraint
from puppet_retarget.editing.edit_config import (
    Bodies,
    body_height,
    EditConfig,
    EditResult,
    LevelReport,
)

__all__ = ['Bodies', 'body_height', 'edit_motion', 'EditConfig', 'EditResult', 'LevelReport']

DEFAULT_CONFIG = EditConfig()


def edit_motion(
    motion: Motion, constraints: Sequence[Constraint], config: EditConfig = DEFAULT_CONFIG,
    progress: Callable[[str, float], object] | None = None, bodies: Bodies | None = None,
) -> EditResult:  # fmt: skip
    """
    Return the motion with constraints met.

    Parameters
    ----------
    motion : Motion
        As it was.
    constraints : sequence of Constraint
        What it has to do.
    config : EditConfig
        How.
    progress : callable, optional
        Called after each level with what was done and the maximum error in percent.
    bodies : Bodies, optional
        Lengths of each frame, if the character changes over the motion.

    Raises
    ------
    ConfigError : if a constraint names a frame that the motion does not have.

    """
    raise NotImplementedError
