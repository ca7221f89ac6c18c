# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Retarget a motion, and what one asks of the outcome."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from puppet.clips import load_character, load_environment
from puppet_core.body import Character, Motion
from puppet_core.io import ConfigError, write_bytes
from puppet_core.math import Floats
from puppet_retarget import offline
from puppet_retarget.importance import Environment
from puppet_retarget.offline import arguments, RetargetJob, RetargetResult
from puppet_retarget.solvers import Solver, SOLVER_NAMES


@dataclass(frozen=True, slots=True)
class Retargeted:
    """A character's motion, and how well it follows the performer's."""

    source: Motion  # the performer's
    job: RetargetJob  # character, environment, solver and settings
    result: RetargetResult  # arrays of everything, one row a frame

    @property
    def character(self) -> Character:
        return self.job.character

    @property
    def motion(self) -> Motion:
        """Return the character's motion: root, joint rotations, end-effectors."""
        return self.result.motion(self.character, self.source.rate_hz)

    @property
    def importance(self) -> Floats:
        """Return how much hands and feet matter, in 0..1, shape (n, 4)."""
        return offline.limb_importances(self.result)

    @property
    def goal_errors(self) -> Floats:
        """Return how far hands and feet are from their goals, shape (n, 4) [m]."""
        return self.result.goal_errors

    def joints(self) -> tuple[tuple[str, ...], Floats]:
        """
        Return names and angles (n, j) [rad] of the joints, a robot's in the order of its URDF.

        Those of a puppet are the three angles of each ball joint, as in `/joint_states`.
        """
        return self.result.joints(self.character)

    def report(self) -> dict[str, Any]:
        """
        Return figures of quality, as `puppet retarget --report` writes them.

        Examples
        --------
        >>> figures = retarget(load_clip('walk'), 'sally').report()
        >>> figures['flips'], figures['goal_error_mm']['p99'] < 1.0
        (0, True)

        """
        return offline.report(self.source, self.job, self.result)

    def save(self, path: str | Path) -> None:
        """
        Write the motion: .bvh, or the joints and links of a trainer's .npz, .csv or .pkl.

        Raises PuppetError for another ending.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in offline.MOTION_SUFFIXES:
            known = ', '.join(offline.MOTION_SUFFIXES)
            raise ConfigError(f'path: expected a file of {known}, got {str(path)!r}')
        write_bytes(path, self.result.file_data(self.character, self.source.rate_hz, suffix))


def retarget(
    motion: Motion,
    character: Character | str = 'sally',
    environment: Environment | str = 'floor',
    solver: Solver | str = SOLVER_NAMES[0],
    progress: Callable[[int], object] | None = None,
    **settings: float | str,
) -> Retargeted:
    """
    Retarget a motion to a character: contacts stay contacts, the rest keeps the gesture.

    Parameters
    ----------
    motion : Motion
        The performer's, from `load_clip`.
    character : Character or str
        Who follows; a name, a path, or what `load_character` returns.
    environment : Environment or str
        What is around the performer, likewise.
    solver : Solver or str
        `whole_body` (the default), `importance_based` (the thesis), `elbow_circle`,
        `rate_control`, `joint_angles`, `position`; or an object with `solve` and `repose`.
    progress : callable, optional
        Gets the number of frames done since its last call.
    **settings
        Parameters of importance or solver by name, as `--set` takes them: `prediction_s=0.2`.

    Raises
    ------
    PuppetError
        For an unknown name or a setting out of range.

    Examples
    --------
    >>> from puppet import load_clip
    >>> retarget(load_clip('walk'), 'blubby').goal_errors.shape
    (846, 4)

    """
    if isinstance(character, str):
        character = load_character(character)
    if isinstance(environment, str):
        environment = load_environment(environment)
    tuning = arguments.tuning([f'{name}={value}' for name, value in settings.items()])
    if isinstance(solver, str):
        if solver not in SOLVER_NAMES:
            known = ', '.join(SOLVER_NAMES)
            raise ConfigError(f'solver: expected one of {known}, got {solver!r}')
        job, own = tuning.job(character, environment, solver), None
    else:
        job, own = tuning.job(character, environment, solver.name), solver
    result = offline.retarget_motion(motion, job, progress, own)
    offline.require_finite(result)
    return Retargeted(motion, job, result)
