# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Enhancement frame by frame, as live: measured angles are imitated, end-effectors followed.

ChoiKo2000, motion capture data enhancement: inverse rate control whose destination is the
source's own body. End-effectors are the primary task, the measured angles the secondary one,
so angles give way only as far as they have to. Causal: a frame does not know those after it.

A step with damping lambda is the minimum of |e - e'|^2 + lambda^2 |change of the angles|^2, so
the weight w1 of ChoiParkKo eq. 1 is had with lambda^2 = (1 - w1) / w1. Near 1 end-effectors are
exact, which turns errors of the believed lengths into errors of angles; the default spreads
both, as suits positions that are known to some 25 mm on that body and angles to 5 degrees.

"""

from collections.abc import Callable
from dataclasses import replace
import math

import numpy as np
from puppet_core.body import GENERAL_END_EFFECTORS, Motion
from puppet_core.io import ConfigError
from puppet_edit.enhancement.keyframe_postures import GENERAL_SEGMENTS, ROOT_LENGTH_M
from puppet_edit.enhancement.motion_curves import AUTO, moves_root
from puppet_edit.enhancement.targets import is_measured, Targets
from puppet_retarget.rate_control import BodyTree, POSITION, RateConfig, RateController, Task

SOFT_WEIGHT = 0.92  # w1
_EVERYWHERE = 1e6  # [m/rad]; singular values are below it: the same damping at all of them


def rate_config(weight: float) -> RateConfig:
    """
    Return the tuning of rate control that has a weight w1; its own damping is kept at least.

    Raises
    ------
    ConfigError : if the weight is not above 0 and below 1.

    """
    if not 0.0 < weight < 1.0:
        raise ConfigError(f'weight: expected 0.0 < value < 1.0, got {weight}')
    damping = math.sqrt((1.0 - weight) / weight)
    own = RateConfig()
    if damping <= own.max_damping:
        return own
    # sub-steps and corrections would take up what the damping leaves
    return replace(
        own, max_damping=damping, damped_below=_EVERYWHERE, max_sub_steps=1, max_corrections=0
    )


def enhance_online(
    motion: Motion,
    targets: Targets,
    root: str = AUTO,
    weight: float = SOFT_WEIGHT,
    progress: Callable[[int], object] | None = None,
) -> Motion:
    """
    Return the motion with its end-effectors where they were measured, in every frame.

    Parameters
    ----------
    motion : Motion
        Measured angles.
    targets : Targets
        Measured end-effectors of the same body in the same world, as many frames; frames
        without leave the angles to the secondary task.
    root : str
        Whether the root may give way, as in `EnhanceConfig`; a tenth of a metre is then as
        much as a radian.
    weight : float
        w1, above 0 and below 1.
    progress : callable, optional
        Called with the number of frames done since the last call.

    Raises
    ------
    ConfigError : if targets do not fit the motion, or the weight is out of range.

    """
    targets.require_frames(motion.n_frames)
    rows = np.flatnonzero(targets.rows)
    points = np.zeros((len(GENERAL_END_EFFECTORS), 3))
    points[:4] = motion.skeleton.interaction_points
    tasks = [Task(int(GENERAL_SEGMENTS[row]), POSITION, points[row]) for row in rows]
    tree = BodyTree.of_skeleton(motion.skeleton)
    controller = RateController(tree, tasks, rate_config(weight))
    if moves_root(root, targets):
        controller.inputs.mobilities[:3] = ROOT_LENGTH_M**2
    else:
        controller.drive_base()
    goals = targets.goals(range(motion.n_frames))[:, rows]
    measured = is_measured(goals)
    roots, rotations = np.array(motion.root_positions), np.array(motion.rotations)
    controller.reset(roots[0], rotations[0, 0], rotations[0])
    inputs, n = controller.inputs, len(tree.names)
    for i in range(motion.n_frames):
        inputs.active[: len(rows)] = measured[i]
        inputs.positions[: len(rows)][measured[i]] = goals[i][measured[i]]
        inputs.imitated[:n] = motion.rotations[i]
        inputs.base_position[:] = motion.root_positions[i]
        inputs.base_orientation[:] = motion.rotations[i, 0]
        controller.step()
        roots[i], rotations[i] = controller.p_world[0], controller.rotations
        rotations[i, 0] = controller.q_world[0]
        if progress is not None and i % 100 == 99:
            progress(100)
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, roots, rotations)
