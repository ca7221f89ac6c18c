# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The peer of the rate benchmark: mink on the same clip, with the same tasks (Zakka2026).

Stance and swing toes, the pelvis' transverse plane, and a posture task of low cost where ours
has the null space. Each frame takes as many rounds as bring the position tasks within
GOOD_ENOUGH_M, at most MAX_ROUNDS; a round is a linear system, as nothing has limits.
"""

from time import perf_counter
from typing import NamedTuple
from xml.etree import ElementTree as Xml

from benchmarks.rate.run import RateClip
import mink
import mujoco
import numpy as np
from puppet_core.math import Floats
from puppet_retarget.rate_control import BodyTree, POSITION

BASE_COST, TASK_COST, POSTURE_COST, DAMPING = 100.0, 10.0, 0.1, 1e-6
GOOD_ENOUGH_M = 1e-3  # what our own settings are held to
MAX_ROUNDS = 10


class PeerRun(NamedTuple):
    """What the peer made of a clip."""

    frames_per_s: float  # Targets, rounds and errors; not the making of its targets
    max_error_m: float  # Of the position tasks, from the second frame on [m]


def run_mink(clip: RateClip, body: BodyTree) -> PeerRun:
    """Return speed and error of mink on a clip."""
    configuration = mink.Configuration(mujoco.MjModel.from_xml_string(tree_mjcf(body, clip)))
    model, script = configuration.model, clip.script
    base_tasks = {
        int(b): mink.FrameTask(body.names[b], 'body', BASE_COST, BASE_COST)
        for b in np.unique(script.bases)
    }
    tasks = [_frame_task(clip, i) for i in range(len(clip.tasks))]
    posture = mink.PostureTask(model, POSTURE_COST)
    postures = np.concatenate(
        (
            clip.p_world[:, 0],
            clip.q_world[:, 0],
            script.imitated[:, 1:].reshape(len(script.bases), -1),
        ),
        axis=1,
    )
    configuration.update(postures[0])
    base_poses, poses = _targets(clip)
    took, worst = 0.0, 0.0
    for i in (*[0] * 50, *range(len(script.bases))):
        start = perf_counter()
        base = base_tasks[int(script.bases[i])]
        base.set_target(base_poses[i])
        used = [task for task, is_active in zip(tasks, script.active[i]) if is_active]
        for task, pose, is_active in zip(tasks, poses[i], script.active[i]):
            if is_active:
                task.set_target(pose)
        posture.set_target(postures[i])
        error = _approach(configuration, [base, *used], posture)
        took += perf_counter() - start if i else 0.0
        worst = max(worst, error if i else 0.0)
    return PeerRun((len(script.bases) - 1) / took, worst)


def tree_mjcf(body: BodyTree, clip: RateClip) -> str:
    """Return a tree of balls as MJCF, a site at the point of each task."""
    model = Xml.Element('mujoco', model='body')
    elements: list[Xml.Element] = []
    for name, parent, offset in zip(body.names, body.parents, body.offsets):
        above = elements[parent] if elements else Xml.SubElement(model, 'worldbody')
        element = Xml.SubElement(above, 'body', name=name, pos=_numbers(offset))
        kind = 'ball' if elements else 'free'
        Xml.SubElement(element, 'joint', name=f'{name}_joint', type=kind)
        Xml.SubElement(element, 'inertial', pos='0 0 0', mass='1', diaginertia='1 1 1')
        elements.append(element)
    for i, task in enumerate(clip.tasks):
        Xml.SubElement(elements[task.segment], 'site', name=f't{i}', pos=_numbers(task.point))
    return Xml.tostring(model, encoding='unicode')


def _frame_task(clip: RateClip, index: int) -> mink.FrameTask:
    """Return a frame task that has cost along the axes of ours only; the axes are the world's."""
    task = clip.tasks[index]
    cost = TASK_COST * np.abs(np.asarray(task.axes)).sum(axis=0)
    none = np.zeros(3)
    where = (cost, none) if task.kind == POSITION else (none, cost)
    return mink.FrameTask(f't{index}', 'site', *where)


def _targets(clip: RateClip) -> tuple[list[mink.SE3], list[list[mink.SE3]]]:
    """Return the targets of base and tasks; a partial position is that of the source's frame."""
    script = clip.script
    bases = np.concatenate((script.base_orientations, script.base_positions), axis=1)
    poses = np.concatenate((script.orientations, script.positions), axis=2)
    for i, task in enumerate(clip.tasks):
        if task.kind == POSITION and task.n_rows < 3:
            # mink measures errors in the target's frame: the axes are to be the world's
            poses[:, i, :4] = [1.0, 0.0, 0.0, 0.0]
    return [mink.SE3(wxyz_xyz=pose) for pose in bases], [
        [mink.SE3(wxyz_xyz=pose) for pose in row] for row in poses
    ]


def _approach(
    configuration: mink.Configuration, tasks: list[mink.FrameTask], posture: mink.Task
) -> float:
    """Take rounds until the frame tasks are met; return the largest position error [m]."""
    dt = configuration.model.opt.timestep
    for _ in range(MAX_ROUNDS):
        problem = mink.build_ik(configuration, [*tasks, posture], dt, DAMPING, limits=[])
        step = np.linalg.solve(problem.P, -problem.q)
        configuration.integrate_inplace(step / dt, dt)
        error = max(_position_error(task, configuration) for task in tasks)
        if error <= GOOD_ENOUGH_M:
            break
    return error


def _position_error(task: mink.FrameTask, configuration: mink.Configuration) -> float:
    error: Floats = task.compute_error(configuration)[:3]
    return float(np.linalg.norm(error[task.cost[:3] > 0.0]))


def _numbers(vector: Floats) -> str:
    return ' '.join(repr(float(value)) for value in vector)
