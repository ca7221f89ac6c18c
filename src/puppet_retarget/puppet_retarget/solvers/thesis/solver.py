# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The thesis' solver: one frame in three steps (Shin2002 ch. 5).

What it knows is what it is given: one posture with its importances. Nothing is kept from frame
to frame.
"""

from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, NO_PROPS, Props
from puppet_core.math import copy, Floats, kernel, pack_arrays, quaternions, Quats, work_table
from puppet_core.math.values import add, quat, sub, Vec3, vec3, Vec3Like
from puppet_retarget.importance import Counterparts, Environment, filled_up, ObjectArrays, UNSEEN
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.interface import NO_RESTS, NOTHING_NEAR, SolverOutput
from puppet_retarget.solvers.thesis.ball_intersection import ball
from puppet_retarget.solvers.thesis.body import bend_body, is_reached
from puppet_retarget.solvers.thesis.elbow_circle import solve_on_circle
from puppet_retarget.solvers.thesis.limbs import (
    blend_limb,
    importances_of,
    limb_of,
    Ranges,
    reach,
    set_limb,
    solve_limb,
)
from puppet_retarget.solvers.thesis.measures import measure, Measures
from puppet_retarget.solvers.thesis.objects import entry
from puppet_retarget.solvers.thesis.puppet import (
    Goals,
    LEAST_FALL,
    Pose,
    Puppet,
    puppet_of,
    Settings,
    settings_of,
    STARTS,
    update,
)
from puppet_retarget.solvers.thesis.ranges import fill_goals, self_ball
from puppet_retarget.solvers.thesis.root import estimate_root, first_root


class Performer(NamedTuple):
    """The performer's posture; calls with two classes of one name take a hundred times as long."""

    root: Vec3Like  # pelvis in world [m]
    hips: Vec3Like  # mid-point of the hip joints in world [m]
    rotations: Quats  # of joints, (16, 4), row 0 the pelvis in world


class Frame(NamedTuple):
    """All that a frame takes and leaves, packed into one argument."""

    puppet: Puppet
    settings: Settings
    objects: ObjectArrays
    goals: Goals = Goals()
    pose: Pose = Pose()
    measures: Measures = Measures()


class ImportanceBasedSolver:
    """Root into reach of the important goals, body if need be, limbs in range balls."""

    name = 'importance_based'
    on_circle = False
    least_fall = LEAST_FALL

    def __init__(
        self,
        character: Character,
        environment: Environment,
        performer_leg_length: float,
        config: SolverConfig,
    ) -> None:
        settings = settings_of(config, character, performer_leg_length)
        self._world_scale = settings.world_scale
        self._counterparts = Counterparts(environment)
        self._packed, frame = pack_arrays(
            Frame(
                puppet_of(character),
                settings._replace(on_circle=self.on_circle, least_fall=self.least_fall),
                filled_up(environment.arrays(1.0, 0.0, self._world_scale)),
            )
        )
        self._objects = frame.objects
        pose, measures = frame.pose, frame.measures
        self._output = SolverOutput(
            pose.root,
            pose.rotations,
            pose.q,
            pose.p,
            pose.points,
            np.zeros(3),
            measures.goal_errors,
            measures.penetrations,
            measures.self_depths,
            0,
            True,
        )

    def solve(
        self,
        root: Floats,
        hips: Floats,
        rotations: Quats,
        rows: Floats,
        dt: float,
        self_rows: Floats = NOTHING_NEAR,
        moving: Props = NO_PROPS,
        head: Floats = UNSEEN,
        rests: Floats = NO_RESTS,
    ) -> SolverOutput:
        """
        Return the puppet's posture.

        The performer's pelvis and mid-point of the hip joints are in world [m], the joint
        rotations as captured, row 0 the pelvis in world. Rows are those of hands and feet, and of
        elbows and knees if there are eight, as `importance.estimator` makes them, and of the own
        body as `importance.self_interaction` does. `moving` are the performer's objects that move.
        The thesis has no use for the time `dt`, the `head` or what else rests on objects.
        """
        if len(rows) not in (4, 8):
            raise ValueError(f'rows: expected 4 or 8, got {len(rows)}')
        self._counterparts.place(moving, self._objects, self._world_scale)
        output, captured = self._output, Performer(root, hips, rotations)
        output.root_offset[:], output.body_iterations, output.reachable = self._run(
            captured, rows, self_rows, dt
        )
        self._place_objects()
        return output

    def _run(
        self, captured: Performer, rows: Floats, self_rows: Floats, dt: float
    ) -> tuple[Vec3, int, bool]:
        """Solve a frame; return the root's offset, the iterations, whether all is in reach."""
        return solve_packed(self._packed, captured, rows, self_rows)

    def repose(self, rows: Floats) -> None:
        """Bring the output of the rows up to date with its root and rotations: changed since."""
        repose_packed(self._packed, rows)
        self._place_objects()

    def _place_objects(self) -> None:
        """Put into the output where the objects that move are, on segments as it has them."""
        own, objects, output = self._counterparts.indices, self._objects, self._output
        for j in own:
            segment = objects.segments[j]
            if segment >= 0:
                q = output.q_world[segment]
                mount = quaternions.rotate(q, objects.mounts[j])
                objects.puppet_positions[j] = output.p_world[segment] + mount
                turned = quaternions.multiply(q, objects.mount_orientations[j])
                objects.puppet_orientations[j] = turned
        if own:
            places = objects.puppet_positions[own], objects.puppet_orientations[own]
            output.moving = Props(self._counterparts.names, *places)


class ElbowCircleSolver(ImportanceBasedSolver):
    """The same root and body; limbs on elbow circles, whose self-interaction is not kept."""

    name = 'elbow_circle'
    on_circle = True


# One frame (kernels).


@kernel
def pose_captured(puppet: Puppet, settings: Settings, captured: Performer, pose: Pose) -> None:
    """Put a puppet with the captured angles where its root is before anything is estimated."""
    for segment in range(16):
        copy(captured.rotations[segment], pose.rotations[segment])
    q_root = captured.rotations[0]
    copy(first_root(puppet, settings, captured.root, captured.hips, q_root), pose.root)
    update(puppet, pose)


@kernel
def solve_packed(
    packed: np.ndarray, captured: Performer, rows: Floats, self_rows: Floats
) -> tuple[Vec3, int, bool]:
    """
    Solve a frame in place; return the root's offset, the body iterations, whether all is in reach.

    `packed` holds a Frame, its objects placed. The root's offset is from where it was at first to
    where the first step put it [m].
    """
    frame = packed[0]
    puppet, settings, goals, pose = frame.puppet, frame.settings, frame.goals, frame.pose
    pose_captured(puppet, settings, captured, pose)
    fill_goals(puppet, settings, rows, pose, goals)
    # 5.1
    first = vec3(pose.root)
    if settings.estimates_root:
        copy(estimate_root(puppet, settings, goals, pose), pose.root)
        update(puppet, pose)
    offset = sub(pose.root, first)
    # 5.2
    iterations, reached = 0, is_reached(puppet, goals, pose)
    if not reached:
        trunk, iterations = bend_body(puppet, settings, goals, pose)
        copy(trunk.root, pose.root)
        copy(trunk.pelvis, pose.rotations[0])
        copy(trunk.spine, pose.rotations[1])
        copy(trunk.chest, pose.rotations[2])
        update(puppet, pose)
    # 5.3
    _pose_limbs(puppet, settings, goals, self_rows, pose)
    _leave_objects(puppet, settings, frame.objects, goals, pose)
    measure(puppet, frame.objects, rows, settings.world_scale, pose, frame.measures)
    return offset, iterations, reached


@kernel
def _ranges(
    puppet: Puppet, settings: Settings, goals: Goals, self_rows: Floats, limb: int, pose: Pose
) -> Ranges:
    """Return where a limb of a pose with captured angles should be."""
    wrist = vec3(goals.wrists[limb])
    own = self_ball(puppet, settings, self_rows[limb], limb, pose)
    # a palm's ball is the wrist's where the hand keeps its orientation
    centre = add(own.centre, sub(wrist, goals.palms[limb]))
    return Ranges(
        ball(wrist, goals.radii[limb], goals.importances[limb]),
        ball(centre, own.outer, own.importance),
        self_ball(puppet, settings, self_rows[limb + 4], limb + 4, pose),
    )


@kernel
def _pose_limbs(
    puppet: Puppet, settings: Settings, goals: Goals, self_rows: Floats, pose: Pose
) -> None:
    """Pose the limbs of a pose with captured angles; each is solved where the others are then."""
    joints = work_table(8, 4)
    for number in range(4):
        limb = limb_of(puppet, number, pose)
        if settings.on_circle:
            solved = solve_on_circle(limb, number < 2, vec3(goals.wrists[number]))
            weights = goals.importances[number], goals.importances[number]
        else:
            ranges = _ranges(puppet, settings, goals, self_rows, number, pose)
            solved, weights = solve_limb(limb, ranges, settings.errata), importances_of(ranges)
        blended = blend_limb(limb, solved, weights)
        copy(blended[0], joints[2 * number])
        copy(blended[1], joints[2 * number + 1])
    for number in range(4):
        both = quat(joints[2 * number]), quat(joints[2 * number + 1])
        set_limb(number, both, goals.q_ends[number], pose)
    update(puppet, pose)


@kernel
def _leave_objects(
    puppet: Puppet, settings: Settings, objects: ObjectArrays, goals: Goals, pose: Pose
) -> None:
    """Solve limbs whose ends are in objects once more, for where they enter these."""
    for number in range(4):
        palm = vec3(pose.points[number])
        surface = entry(objects, vec3(pose.p[STARTS[number]]), palm)
        if surface == palm:
            continue
        limb = limb_of(puppet, number, pose)
        wrist = add(surface, sub(goals.wrists[number], goals.palms[number]))
        if settings.on_circle:
            joints = blend_limb(limb, solve_on_circle(limb, number < 2, wrist), (1.0, 1.0))
        else:
            joints = reach(limb, wrist, settings.errata)
        set_limb(number, joints, goals.q_ends[number], pose)
    update(puppet, pose)


@kernel
def repose_packed(packed: np.ndarray, rows: Floats) -> None:
    """Bring segments, ends and measures up to date with the posture."""
    frame = packed[0]
    puppet, pose = frame.puppet, frame.pose
    update(puppet, pose)
    scale = frame.settings.world_scale
    measure(puppet, frame.objects, rows, scale, pose, frame.measures)
