# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The peer `mink`: differential inverse kinematics with the tasks of General Motion Retargeting.

mink (Zakka2026) builds the quadratic programme of frame tasks on a MuJoCo model. The tasks,
their weights, damping and the rule when to stop are those of GMR (Araujo2025,
motion_retarget.py and ik_configs/smplx_to_g1.json at commit 4f9e8b7), with one task for each of
our segments. Bodies here have no limits, so that the programme is a linear system, solved as
such: more exact than a solver of programmes, and faster.
"""

from typing import NamedTuple

from benchmarks.quality.peer_mjcf import mjcf_text, site_name
from benchmarks.quality.peer_solver import PeerSolver, Targets
import mink
import mujoco
import numpy as np
from puppet_core.body import END_EFFECTORS, LIMB_SEGMENTS, SEGMENTS, Skeleton
from puppet_core.math import Quats, Vec3
from puppet_retarget.offline import RetargetJob

DAMPING = 0.5
LM_DAMPING = 1.0
MORE_ROUNDS = 10  # after the first, in each pass
MIN_PROGRESS = 1e-3  # of the norm of all errors, metres and radians together
START_PASSES = 20  # of the first frame, which has none before it


class Weights(NamedTuple):
    """Costs of a frame task."""

    position: float
    orientation: float


# First all orientations with pelvis and feet in place, then the other positions.
PASSES = (
    {'pelvis': Weights(100.0, 10.0), 'foot': Weights(100.0, 10.0), '': Weights(0.0, 10.0)},
    {
        'pelvis': Weights(100.0, 5.0),
        'foot': Weights(100.0, 50.0),
        'spine': Weights(0.0, 10.0),
        'chest': Weights(0.0, 10.0),
        'head': Weights(0.0, 10.0),
        '': Weights(10.0, 5.0),
    },
)


class MinkSolver(PeerSolver):
    """Frame tasks of all segments, solved in two passes from the frame before."""

    name = 'mink'

    def __init__(self, job: RetargetJob, performer: Skeleton) -> None:
        super().__init__(job, performer)
        character = job.character
        text = mjcf_text(character.skeleton, character.name)
        self._configuration = mink.Configuration(mujoco.MjModel.from_xml_string(text))
        self._passes = [_tasks(weights) for weights in PASSES]
        self._step_s = self._configuration.model.opt.timestep

    def pose(self, targets: Targets) -> tuple[Vec3, Quats]:
        """Return root and rotations that come nearest to the targets."""
        poses = np.hstack((targets.orientations, targets.positions))
        for tasks in self._passes:
            for task, pose in zip(tasks, poses):
                task.set_target(mink.SE3(wxyz_xyz=pose))
        is_start = not targets.dt < np.inf
        if is_start:
            start = np.concatenate((targets.positions[0], targets.rotations.ravel()))
            self._configuration.update(start)
        for _ in range(START_PASSES if is_start else 1):
            for tasks in self._passes:
                self._approach(tasks)
        found = self._configuration.q
        return found[:3], found[3:].reshape(16, 4)

    def _approach(self, tasks: list[mink.FrameTask]) -> None:
        """Take steps until they hardly help."""
        before = self._error(tasks)
        for _ in range(1 + MORE_ROUNDS):
            problem = mink.build_ik(self._configuration, tasks, self._step_s, DAMPING, limits=[])
            step = np.linalg.solve(problem.P, -problem.q)
            self._configuration.integrate_inplace(step / self._step_s, self._step_s)
            now = self._error(tasks)
            if before - now <= MIN_PROGRESS:
                break
            before = now

    def _error(self, tasks: list[mink.FrameTask]) -> float:
        errors = [task.compute_error(self._configuration) for task in tasks]
        return float(np.linalg.norm(np.concatenate(errors)))


def _tasks(weights: dict[str, Weights]) -> list[mink.FrameTask]:
    """Return the task of each segment, hands and feet by their palm and sole centres."""
    sites = {SEGMENTS[i]: site_name(end) for i, end in zip(LIMB_SEGMENTS[:, 2], END_EFFECTORS)}
    tasks = []
    for segment in SEGMENTS:
        part = segment.removeprefix('left_').removeprefix('right_')
        cost = weights.get(part, weights[''])
        tasks.append(
            mink.FrameTask(
                sites.get(segment, segment),
                'site' if segment in sites else 'body',
                cost.position,
                cost.orientation,
                lm_damping=LM_DAMPING,
            )
        )
    return tasks
