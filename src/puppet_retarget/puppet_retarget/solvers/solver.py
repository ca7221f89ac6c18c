# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The interface of all solvers, and one frame in the thesis' three steps: root, body, limbs.

`Solver` is what all share: captured posture and importance in, puppet posture out, and between
them the puppet, the frame and the compiled call. They differ in the importances, goals and tuning
they pass; all are in `solvers.registry`, `solvers.rate_control` has one.
"""

from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, NO_PROPS, Props
from puppet_core.math import (
    add,
    conjugate,
    copy,
    Floats,
    kernel,
    multiply,
    norm,
    normalized,
    pack_arrays,
    quat,
    Quats,
    rotate,
    scale,
    sub,
    Vec3,
    vec3,
    Vec3s,
)
from puppet_core.math.values import ease
from puppet_core.robots import RobotJoints
from puppet_retarget.importance import (
    Counterparts,
    Environment,
    filled_up,
    GOAL,
    IMPORTANCE,
    ObjectArrays,
    RADIUS,
    UNSEEN,
)
from puppet_retarget.solvers.body import BodyTask, minimise_body
from puppet_retarget.solvers.body_contact import (
    arms_out_of_objects,
    level_ends,
    lift_ends,
    note_push,
    note_turns,
    way_out_of_planes,
)
from puppet_retarget.solvers.carry import (
    carry_along,
    carry_objects,
    middle_of_palms,
    mount_goals,
    place_mounted,
    settle_carried,
)
from puppet_retarget.solvers.config import ELBOW_CIRCLE, SolverConfig
from puppet_retarget.solvers.corrections import follow_limbs
from puppet_retarget.solvers.gaze import turn_head
from puppet_retarget.solvers.interface import NO_RESTS, NOTHING_NEAR, SolverOutput
from puppet_retarget.solvers.joint_limits import KEPT, limit_joints
from puppet_retarget.solvers.limbs import (
    into_range_ball,
    into_reach,
    Range,
    share_of_end,
    solve_limb_in_ranges,
    STARTS,
    unlock,
)
from puppet_retarget.solvers.penetration import (
    least_distance,
    resolve_object_penetration,
    resolve_self_penetration,
    self_depths,
    solve_one_limb,
)
from puppet_retarget.solvers.root import (
    centre_balls,
    keep_extensions,
    MIN_IMPORTANCE,
    place_root,
    push_root,
    reference_root,
    rest_trunk,
    smooth_root,
)
from puppet_retarget.solvers.self_contact import fill_self_ball, PosedBody, SelfBalls, stretch_of
from puppet_retarget.solvers.state import (
    Frame,
    Goals,
    limb_at,
    move_with_root,
    puppet_model,
    PuppetModel,
    RangeGoals,
    set_joints,
    Tuning,
    tuning,
    update_kinematics,
)

REACHABLE_TOL_M = 1e-9
LIFTS = 3  # of a body, whose knees rise less than its hips
LIFT_TOL_M = 1e-6
JOINT_TIE = 0.1  # lack of importance within which an end and its elbow or knee are equal [-]
SWEEPS = 4  # over the own body's ranges of a pair of limbs


class Captured(NamedTuple):
    """The performer's posture as far as solvers need it."""

    root: Vec3  # pelvis in world [m]
    hips: Vec3  # mid-point of the hip joints in world [m]
    rotations: Quats  # of joints, (16, 4), row 0 the pelvis in world


class SolverArrays(NamedTuple):
    """Everything a solver's kernels need between frames, packed into one argument."""

    model: PuppetModel
    tuning: Tuning
    objects: ObjectArrays
    goals: RangeGoals
    frame: Frame


class Solver:
    """Retargets frames of one performer; remembers what it smooths: root, push, corrections."""

    name = ''
    limb_form = 0

    def __init__(
        self,
        character: Character,
        environment: Environment,
        performer_leg_length: float,
        config: SolverConfig,
    ) -> None:
        numbers = tuning(config, character, performer_leg_length)
        objects = environment.arrays(1.0, 0.0, numbers.world_scale)
        self.packed, arrays = pack_arrays(
            SolverArrays(
                puppet_model(character),
                numbers._replace(limb_form=self.limb_form),
                filled_up(objects),
                RangeGoals(),
                Frame(),
            )
        )
        """SolverArrays, for kernels that solve many frames."""
        self._counterparts, self._objects = Counterparts(environment), arrays.objects
        self._world_scale = numbers.world_scale
        frame = arrays.frame
        self._relaxation, self._head = frame.relaxation, frame.head
        self._output = SolverOutput(
            frame.root,
            frame.rotations,
            frame.q_world,
            frame.p_world,
            frame.end_effectors,
            frame.root_offset,
            frame.goal_errors,
            frame.penetrations,
            frame.self_depths,
            0,
            True,
        )

    def solve(
        self,
        root: Vec3,
        hips: Vec3,
        rotations: Quats,
        rows: Floats,
        dt: float,
        self_rows: Floats = NOTHING_NEAR,
        moving: Props = NO_PROPS,
        head: Vec3 = UNSEEN,
        rests: Floats = NO_RESTS,
    ) -> SolverOutput:
        """
        Return the puppet's posture.

        The performer's pelvis and mid-point of the hip joints are in world [m], the joint
        rotations as captured, row 0 the pelvis in world. Rows are as `importance.estimator` and
        `importance.self_interaction` make them; by default nothing is near the own body. The time
        since the frame before [s] is infinite for the first, or after a gap. `moving` are
        the performer's objects that move; `head` is its head joint in world [m], without which
        nothing is looked at.
        """
        if len(rows) not in (4, 8):
            raise ValueError(f'rows: expected 4 or 8, got {len(rows)}')
        output, objects = self._output, self._objects
        self._counterparts.place(moving, objects, self._world_scale)
        objects.puppet_positions[objects.segments >= 0] = UNSEEN  # in nobody's way
        self._head[:] = head
        output.body_iterations = self._run(root, hips, rotations, rows, self_rows, dt)
        output.reachable = self._relaxation[0] <= REACHABLE_TOL_M
        self._place_objects()
        return output

    def repose(self, rows: Floats) -> None:
        """Bring the output of the rows up to date with its root and rotations: changed since."""
        repose_packed(self.packed, rows)
        self._place_objects()

    def _place_objects(self) -> None:
        """Put into the output where the objects that move are, on segments as it has them."""
        own, objects = self._counterparts.indices, self._objects
        if own:
            place_mounted(self.packed)
            places = objects.puppet_positions[own], objects.puppet_orientations[own]
            self._output.moving = Props(self._counterparts.names, *places)

    def _run(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, self_rows: Floats, dt: float
    ) -> int:
        """Fill the frame; return the body iterations."""
        captured = Captured(root, hips, rotations)
        return solve_packed(self.packed, captured, rows, self_rows, dt)


# One frame (kernels).


@kernel
def goals_of(goals: RangeGoals, rows: Floats, self_rows: Floats, tuning: Tuning) -> Goals:
    """Return the goals of importance rows, carried over to the puppet's world."""
    world_scale = tuning.world_scale
    goals.importances[:] = 0.0
    for i in range(len(rows)):
        goals.importances[i] = rows[i, IMPORTANCE]
        # Shin2002 eq. 5.10: r = r_max (1 - w)
        goals.radii[i] = world_scale * rows[i, RADIUS] * (1.0 - rows[i, IMPORTANCE])
        copy(scale(rows[i, GOAL : GOAL + 3], world_scale), goals.positions[i])
    return Goals(goals.positions[:], goals.importances[:], goals.radii[:], self_rows)


@kernel
def pose_captured(
    model: PuppetModel, tuning: Tuning, hips: Vec3, rotations: Quats, frame: Frame
) -> None:
    """Put the puppet at its reference root with the captured rotations."""
    for segment in range(16):
        copy(rotations[segment], frame.rotations[segment])
    reference_root(model, tuning, hips, rotations[0], frame.root)
    update_kinematics(model, frame)
    frame.mounted[:] = 0.0


@kernel
def unlock_joints(model: PuppetModel, frame: Frame) -> None:
    """Straighten the knees and elbows of a posture as captured that bend backward."""
    for limb in range(4):
        elbow, end = STARTS[limb] + 1, STARTS[limb] + 2
        own, end_rotation = quat(frame.rotations[elbow]), frame.rotations[end]
        turn = unlock(limb, model.offsets[elbow], rotate(own, model.offsets[end]))
        if turn[0] == 1.0:
            continue
        # the hand keeps its orientation
        back = multiply(conjugate(own), multiply(conjugate(turn), own))
        copy(multiply(back, end_rotation), end_rotation)
        copy(multiply(turn, own), frame.rotations[elbow])


@kernel
def keep_end_orientations(model: PuppetModel, goals: Goals, frame: Frame) -> None:
    """Note the captured hand and foot orientations, and where they want wrist and ankle."""
    for limb in range(4):
        q_end = frame.q_world[STARTS[limb] + 2]
        copy(q_end, frame.q_ends[limb])
        palm = rotate(q_end, model.interaction_points[limb])
        copy(sub(goals.positions[limb], palm), frame.wrist_goals[limb])


@kernel
def _estimate_body(
    model: PuppetModel, tuning: Tuning, captured_root: Vec3, goals: Goals, dt: float, frame: Frame
) -> int:
    """Place the root and, if that does not reach all goals, the body; return iterations."""
    before = vec3(frame.root)
    push_root(dt, frame)
    relaxation = place_root(model, tuning, goals, frame)
    frame.relaxation[0] = relaxation
    iterations = 0
    if relaxation > REACHABLE_TOL_M and tuning.max_iterations > 0:
        if not dt < np.inf:
            frame.body.unknowns[:] = 0.0
        iterations = _adapt_body(model, tuning, frame)
        update_kinematics(model, frame)  # the bent body carries its limbs elsewhere
        centre_balls(goals, frame)
    else:
        frame.body.unknowns[:] = 0.0
    smooth_root(model, tuning, captured_root, goals, dt, frame)
    copy(sub(frame.root, before), frame.root_offset)
    return iterations


@kernel
def _adapt_body(model: PuppetModel, tuning: Tuning, frame: Frame) -> int:
    """Bend the body towards goals that the root alone cannot reach; return iterations."""
    weights = tuning.posture_weight, tuning.orientation_weight, tuning.position_weight
    body, radii = frame.body, frame.balls.radii
    task = BodyTask(model.offsets, frame.root, frame.rotations, frame.wrist_goals, radii, weights)
    iterations = minimise_body(
        task, tuning.torso_segments, tuning.max_iterations, body, frame.trial
    )
    copy(body.p_body[0], frame.root)
    copy(body.q_body[0], frame.rotations[0])
    for segment in range(1, 3):
        to_parent = conjugate(body.q_body[segment - 1])
        copy(multiply(to_parent, body.q_body[segment]), frame.rotations[segment])
    return iterations


@kernel
def measure(model: PuppetModel, objects: ObjectArrays, goals: Vec3s, frame: Frame) -> None:
    """Fill goal errors and penetrations of the end-effectors, and depths in the own body [m]."""
    for i in range(4):
        frame.goal_errors[i] = norm(sub(frame.end_effectors[i], goals[i]))
        frame.penetrations[i] = max(-least_distance(objects, vec3(frame.end_effectors[i])), 0.0)
    self_depths(model.body.shape, frame)


@kernel
def _reach_out(model: PuppetModel, tuning: Tuning, goals: Goals, limb: int, frame: Frame) -> None:
    """Bring a limb into its ranges of the environment; without importance it stays as captured."""
    w, w_elbow = goals.importances[limb], goals.importances[limb + 4]
    reach = tuning.stretch_limit * (model.upper_lengths[limb] + model.lower_lengths[limb])
    if w > MIN_IMPORTANCE:
        own = limb_at(model, frame, limb, frame.rotations, frame.q_ends[limb])
        goal = vec3(frame.wrist_goals[limb])
        goal = into_range_ball(own.wrist, goal, goals.radii[limb], 1.0 - w)
        goal = into_reach(own.shoulder, own.wrist, reach, 1.0 - w, goal)
        set_joints(frame.rotations, limb, solve_one_limb(tuning, own, goal, 0.0, ease(w)))
    if w_elbow > MIN_IMPORTANCE:
        own = limb_at(model, frame, limb, frame.rotations, frame.q_ends[limb])
        elbow = Range(vec3(goals.positions[limb + 4]), goals.radii[limb + 4], w_elbow)
        share = share_of_end(w, w_elbow, JOINT_TIE)
        kept = ease(w) * share * (2.0 - share)  # without a kink where they are equal
        joints = solve_limb_in_ranges(own, reach, kept, Range(own.wrist, 0.0, 0.0), elbow)
        set_joints(frame.rotations, limb, joints)


@kernel
def _touch(
    model: PuppetModel, tuning: Tuning, goals: Goals, limb: int, ends: SelfBalls, frame: Frame
) -> None:
    """Bring a limb into its ranges of the own body, as far as the environment leaves it free."""
    elbows = frame.self_balls
    w_end, w_elbow = ends.importances[limb], elbows.importances[limb + 4]
    if max(w_end, w_elbow) <= MIN_IMPORTANCE:
        return
    own = limb_at(model, frame, limb, frame.rotations, frame.q_world[STARTS[limb] + 2])
    palm = rotate(own.q_end, model.interaction_points[limb])
    end = Range(sub(ends.centres[limb], palm), ends.radii[limb], w_end)
    elbow = Range(vec3(elbows.centres[limb + 4]), elbows.radii[limb + 4], w_elbow)
    reach = tuning.stretch_limit * (own.upper + own.lower)
    joints = solve_limb_in_ranges(own, reach, ease(goals.importances[limb]), end, elbow)
    set_joints(frame.rotations, limb, joints)


@kernel
def _fill_self_balls(
    model: PuppetModel, tuning: Tuning, goals: Goals, first: int, balls: SelfBalls, frame: Frame
) -> None:
    """Fill the ranges of the own body of two end-effectors, from `first` on, as it is posed."""
    body = PosedBody(
        model.body.samples,
        tuning.world_scale,
        frame.q_world,
        frame.p_world,
        frame.end_effectors,
        frame.stretches,
    )
    for j in range(first, first + 2):
        fill_self_ball(j, goals.importances, goals.self_rows, body, balls)


@kernel
def pose_limbs(
    model: PuppetModel,
    tuning: Tuning,
    objects: ObjectArrays,
    goals: Goals,
    dt: float,
    frame: Frame,
) -> None:
    """Pose the four limbs of a frame whose root and body are in place, kinematics up to date."""
    touches = tuning.limb_form != ELBOW_CIRCLE
    for segment in range(STARTS[0], 16):
        copy(frame.rotations[segment], frame.captured[segment])
    for limb in range(2):
        copy(stretch_of(frame.p_world, limb), frame.stretches[limb])
    # legs first: an arm that touches a leg touches it where the leg finally is
    for first in (2, 0):
        if touches:
            _fill_self_balls(model, tuning, goals, first, frame.self_balls, frame)
            _fill_self_balls(model, tuning, goals, first + 4, frame.self_balls, frame)
        for limb in range(first, first + 2):
            # a hand's turn against the captured one is all eased
            copy(frame.rotations[STARTS[limb] + 2], frame.free_rotations[STARTS[limb] + 2])
            _reach_out(model, tuning, goals, limb, frame)
        update_kinematics(model, frame)
        for limb in range(first, first + 2):
            for segment in range(STARTS[limb], STARTS[limb] + (3 if limb >= 2 else 2)):
                copy(frame.rotations[segment], frame.free_rotations[segment])
            copy(frame.end_effectors[limb], frame.free_ends[limb])
        for sweep in range(SWEEPS if touches else 0):
            ends = frame.self_balls
            if sweep > 0:  # hands may have come only part of the way to each other
                ends = frame.second_balls
                _fill_self_balls(model, tuning, goals, first, ends, frame)
            for limb in range(first, first + 2):
                _touch(model, tuning, goals, limb, ends, frame)
            update_kinematics(model, frame)
    if tuning.self_push_out:
        resolve_self_penetration(model, tuning, goals, frame)
    arms_out_of_objects(model, tuning, objects, goals, frame)
    follow_limbs(model, goals, dt, frame)
    resolve_object_penetration(model, tuning, objects, frame)
    lift_ends(model, tuning, objects, goals, frame)
    if tuning.joint_limits and limit_joints(model.limits, frame.rotations, KEPT) > 0:
        update_kinematics(model, frame)


@kernel
def lift_body(model: PuppetModel, tuning: Tuning, objects: ObjectArrays, frame: Frame) -> bool:
    """
    Lift a posed body that is in planes out of them; return whether it was.

    Its limbs are as captured again then, to be posed once more.
    """
    way = way_out_of_planes(model, tuning, objects, -1, 0.0, frame)
    if norm(way) < LIFT_TOL_M:
        return False
    copy(add(frame.root, way), frame.root)
    lift = add(scale(frame.lift_up, frame.lift[0]), way)
    frame.lift[0], frame.lift[1] = norm(lift), 0.0
    copy(normalized(lift), frame.lift_up)
    for segment in range(STARTS[0], 16):
        copy(frame.captured[segment], frame.rotations[segment])
    update_kinematics(model, frame)
    return True


@kernel
def solve_packed(
    packed: np.ndarray, captured: Captured, rows: Floats, self_rows: Floats, dt: float
) -> int:
    """
    Solve a frame in place; return the body iterations. `packed` holds SolverArrays.

    Objects and goals are in the puppet's scaled world. An infinite time since the frame before [s]
    starts all smoothing anew.
    """
    solver = packed[0]
    model, tuning, frame = solver.model, solver.tuning, solver.frame
    goals = goals_of(solver.goals, rows, self_rows, tuning)
    lift_before = frame.lift[0]
    pose_captured(model, tuning, captured.hips, captured.rotations, frame)
    unlock_joints(model, frame)
    update_kinematics(model, frame)
    carry_objects(model, tuning, solver.objects, rows, goals, frame)
    keep_end_orientations(model, goals, frame)
    note_turns(solver.objects, rows, frame)
    level_ends(model, tuning, solver.objects, goals, dt, frame)
    keep_extensions(model, tuning, goals, frame)
    move_with_root(frame)
    rest_trunk(model, tuning, solver.objects, captured.root, frame)
    move_with_root(frame)
    mount_goals(tuning, solver.objects, rows, goals, frame)
    iterations = _estimate_body(model, tuning, captured.root, goals, dt, frame)
    move_with_root(frame)
    mount_goals(tuning, solver.objects, rows, goals, frame)
    turn_head(tuning, solver.objects, captured.rotations, dt, frame)
    for lift in range(LIFTS + 1):
        # once more no time has passed: what follows in time stays where it is
        pose_limbs(model, tuning, solver.objects, goals, dt if lift == 0 else 0.0, frame)
        if lift == LIFTS or not lift_body(model, tuning, solver.objects, frame):
            break
    if lift > 0 and 0.0 < dt < np.inf:  # it goes on down as fast as it comes down now
        frame.lift[1] = min((frame.lift[0] - lift_before) / dt, 0.0)
    settle_carried(solver.objects, rows, goals.positions, frame)
    measure(model, solver.objects, goals.positions, frame)
    note_push(model, solver.objects, goals, frame)
    return iterations


@kernel
def pose_captured_packed(
    packed: np.ndarray, hips: Vec3, rotations: Quats, rows: Floats, self_rows: Floats
) -> None:
    """Put the puppet at its reference root with the captured rotations, in place."""
    solver = packed[0]
    goals = goals_of(solver.goals, rows, self_rows, solver.tuning)
    pose_captured(solver.model, solver.tuning, hips, rotations, solver.frame)
    measure(solver.model, solver.objects, goals.positions, solver.frame)


@kernel
def repose_packed(packed: np.ndarray, rows: Floats) -> None:
    """Bring segments, ends, what hands carry and measures up to date with the posture."""
    solver = packed[0]
    objects, goals, frame = solver.objects, solver.goals.positions, solver.frame
    palms = middle_of_palms(frame)
    update_kinematics(solver.model, frame)
    carry_along(objects, rows, palms, goals, frame)
    measure(solver.model, objects, goals, frame)


def follow_robot(
    joints: RobotJoints, out: SolverOutput, rows: Floats, scale: float, dt: float
) -> Floats:
    """
    Return the robot's angles [rad]; the posture asked for becomes the one that it takes.

    Distances from the goals of importance rows, which are scaled to the puppet's world, are
    written too. The time since the frame before [s] is infinite for the first, or after a gap.
    """
    importances = np.ascontiguousarray(rows[:4, IMPORTANCE])
    angles = joints.step(
        out.root_position,
        out.rotations,
        out.q_world,
        out.p_world,
        out.end_effectors,
        importances,
        dt,
    )
    out.root_position[:] = out.p_world[0]  # it may have had to give way
    goals = scale * rows[:4, GOAL : GOAL + 3]
    out.goal_errors[:] = np.linalg.norm(out.end_effectors[:4] - goals, axis=1)
    return angles
