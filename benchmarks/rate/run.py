# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A whole clip under inverse rate control, its errors, and how long it takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from benchmarks.rate.script import play_packed, Script
import numpy as np
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_retarget.rate_control import (
    BASE_DOFS,
    BodyTree,
    POSITION,
    RateConfig,
    RateController,
    Task,
)

SETTLING_FRAMES = 200  # of the first posture, before the clip begins


@dataclass(frozen=True, slots=True)
class RateClip:
    """A motion of one body, as it is given to another."""

    rate_hz: float  # Frames a second
    source: BodyTree  # The body that the motion was made for
    tasks: tuple[Task, ...]  # Primary tasks
    script: Script  # What is asked of each frame
    q_world: Quats  # The source's segments in world, shape (n, s, 4)
    p_world: Vec3s  # The source's joints in world, shape (n, s, 3) [m]


@dataclass(frozen=True, slots=True)
class RateResult:
    """The same motion on another body."""

    rotations: Quats  # Joint rotations, shape (n, s, 4)
    q_world: Quats  # Segments in world, shape (n, s, 4)
    p_world: Vec3s  # Joints in world, shape (n, s, 3) [m]


def run_clip(
    clip: RateClip,
    body: BodyTree,
    config: RateConfig,
    seconds: float = 0.0,
    mobilities: Floats | None = None,
) -> tuple[RateResult, float]:
    """
    Retarget a clip in one compiled loop.

    Parameters
    ----------
    clip : RateClip
        The motion; its base is driven.
    body : BodyTree
        Who performs it, of the same joints.
    config : RateConfig
        Tuning.
    seconds : float
        The clip is repeated for at least so long to time it; 0 times it once [s].
    mobilities : ndarray, shape (s,), optional
        How readily each joint moves for the tasks; by default all the same.

    Returns
    -------
    result : RateResult
        The motion on the body.
    frames_per_s : float
        Frames by the time of the whole solve, the best repetition.

    """
    script = clip.script
    shape = script.imitated.shape
    outputs = [np.zeros((*shape[:2], width)) for width in (4, 4, 3)]
    first = Script._make(np.repeat(part[:1], SETTLING_FRAMES, axis=0) for part in script)
    settled = [np.zeros((SETTLING_FRAMES, *out.shape[1:])) for out in outputs]
    best, spent, is_compiled = np.inf, 0.0, False
    while True:
        controller = RateController(body, clip.tasks, config, int(script.bases[0]))
        if mobilities is not None:
            joints = np.repeat(mobilities[1:], body.kinds[1:])
            controller.inputs.mobilities[BASE_DOFS : body.n_dofs] = joints
        controller.drive_base()
        controller.reset(script.base_positions[0], script.base_orientations[0], script.imitated[0])
        play_packed(controller.packed, first, *settled)
        start = perf_counter()
        play_packed(controller.packed, script, *outputs)
        took = perf_counter() - start
        if seconds > 0.0 and not is_compiled:  # the first pass may have compiled kernels
            is_compiled = True
            continue
        best, spent = min(best, took), spent + took
        if spent >= seconds:
            return RateResult(*outputs), len(script.bases) / best


def task_errors(clip: RateClip, result: RateResult) -> Floats:
    """
    Return how far the points of position tasks are from the source's, shape (n, t) [m].

    Of the base, too, whose own task rests meanwhile.
    """
    errors = np.zeros(clip.script.active.shape)
    for i, task in enumerate(clip.tasks):
        if task.kind != POSITION:
            continue
        away = clip.script.positions[:, i] - task_track(task, result)
        along = away @ np.asarray(task.axes).T
        errors[:, i] = np.linalg.norm(along, axis=1)
    return errors


def task_track(task: Task, result: RateResult | RateClip) -> Vec3s:
    """Return where a task's point is in each frame, shape (n, 3) [m]."""
    turned = quaternions.rotate(result.q_world[:, task.segment], task.point)
    return turned + result.p_world[:, task.segment]


def flexion(rotations: Quats) -> Floats:
    """Return the angle of joints about their sideways axis Y, (...,), unwrapped in time [rad]."""
    return np.unwrap(2.0 * np.arctan2(rotations[..., 2], rotations[..., 0]), axis=0)


def correlations(source: Quats, found: Quats, joints: Sequence[int]) -> Floats:
    """Return how alike the courses of the joints' flexions are, from -1 to 1."""
    pairs = [(flexion(source[:, j]), flexion(found[:, j])) for j in joints]
    return np.array([np.corrcoef(a, b)[0, 1] for a, b in pairs])
