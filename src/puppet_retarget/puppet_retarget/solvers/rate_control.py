# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Closed-loop inverse rate control of the whole puppet at once (ChoiKo2000), live.

With the pelvis as base its place is imitated, as the joints are: the root of the thesis, and limbs
bent as there.
With another base, or the end-effector in contact, nothing is asked of the pelvis (the paper's clip
2): the base is where it is to be, and the root follows by the captured angles.

What ChoiKo2000 calls the reference end-effector trajectory of the animated character is made of
importance: an end-effector that matters goes where the performer's is, in the puppet's world;
one that does not goes where the captured angles lead it; between them, a fraction of the way.
The controller itself is the package `rate_control`.
"""

import math
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS, PLANTED_SPEED_M_S, SEGMENT_INDEX, SEGMENTS
from puppet_core.math import (
    add,
    align_sign,
    angle_between,
    copy,
    Floats,
    kernel,
    norm,
    pack_arrays,
    Quat,
    Quats,
    scale,
    sub,
    values,
    vec3,
    Vec3s,
)
from puppet_core.math.values import ease, lerp, Vec3
from puppet_retarget.importance import Environment
from puppet_retarget.rate_control import (
    advance,
    begin,
    BodyTree,
    change_base,
    Inputs,
    ORIENTATION,
    pose_tree,
    POSITION,
    RateArrays,
    RateConfig,
    RateController,
    SECONDARY_ONLY,
    State,
    Task,
    TASKS_ONLY,
)
from puppet_retarget.solvers.config import RATE_BASES, RATE_ESTIMATES, SolverConfig
from puppet_retarget.solvers.joint_limits import KEPT, limit_arrays, limit_joints, LimitArrays
from puppet_retarget.solvers.thesis.limbs import limb_of, reach, set_limb
from puppet_retarget.solvers.thesis.measures import measure
from puppet_retarget.solvers.thesis.puppet import (
    Goals,
    Pose,
    Puppet,
    REACH_TOL_M,
    Settings,
    STARTS,
    update,
)
from puppet_retarget.solvers.thesis.ranges import fill_goals
from puppet_retarget.solvers.thesis.root import estimate_root, reach_over_importance
from puppet_retarget.solvers.thesis.solver import ImportanceBasedSolver, Performer, pose_captured

START_ROUNDS = 20  # of a first frame, until root and joints have settled
TANGLED_M = 0.02  # farther from the goals than the captured posture by so much: a dead end [m]
UNTANGLING = 0.1  # fraction of the way back to what is imitated in each such frame [-]
ASTRAY_M, ASTRAY_RAD = 0.1, 1.0  # root or joint so far from what it should imitate, and could ..
PATIENCE_S = 0.2  # .. for so long: astray
RETURN_S = 0.3  # in which it is brought back
IN_CONTACT = 0.9  # importance from which on a hand or foot that is slow is planted [-]
RELAXED_M = 0.01  # so far out of the root's reach, goals are half the whole body's [m]
HELD_POWER = 3  # importance to this power leaves a goal out of the root's reach where it is [-]
PELVIS, CONTACT = RATE_BASES.index('pelvis'), RATE_BASES.index('contact')
_ENDS = tuple(int(segment) for segment in LIMB_SEGMENTS[:, 2])

TURN_WEIGHT = 0.3  # of the orientations of hands and feet: a radian counts as 0.3 m
SHIFT_MOBILITY, TURN_MOBILITY, TORSO_MOBILITY = 0.2, 0.1, 0.2
"""How readily pelvis and torso move for hands and feet; the joints of the limbs 1 [-]."""
CONFIG = RateConfig(tolerance=1e-4)


class Numbers(NamedTuple):
    """What the kernels need beside the puppet and the controller."""

    base: int  # by RATE_BASES
    limits: LimitArrays


@kernel
def _ask(inputs: Inputs, goals: Goals, pose: Pose) -> float:
    """
    Fill the inputs from goals and from a pose with the captured angles.

    What is free goes along with the root: it is not to hold on to a place in the air that has
    no meaning. Where nothing matters that does not hold for an imitated root either: it is where
    it should be. Returned is how far from its goals the captured posture is [m].
    """
    square, free = 0.0, 1.0
    for limb in range(4):
        free *= 1.0 - ease(goals.importances[limb])
    for limb in range(4):
        share = ease(goals.importances[limb])
        inputs.carried[limb] = (1.0 - share) * (1.0 - free)
        captured = pose.points[limb]
        away = scale(sub(goals.palms[limb], captured), share)
        copy(add(captured, away), inputs.positions[limb])
        for k in range(3):
            square += away[k] * away[k]
        copy(pose.q[_ENDS[limb]], inputs.orientations[4 + limb])
    copy(pose.root, inputs.root_position)
    copy(pose.root, inputs.base_position)
    copy(pose.rotations[0], inputs.base_orientation)
    for joint in range(1, 16):
        copy(pose.rotations[joint], inputs.imitated[joint])
    return math.sqrt(square)


@kernel
def _contact(goals: Goals, before: Vec3s, dt: float, base: int) -> int:
    """Return the end-effector that is planted, feet first; the base while it, or none, is."""
    found = base
    for limb in (2, 3, 0, 1):
        way = norm(sub(goals.palms[limb], before[limb]))
        if goals.importances[limb] > IN_CONTACT and way < PLANTED_SPEED_M_S * dt:
            if _ENDS[limb] == base:
                return base
            found = _ENDS[limb] if found == base else found
    return found


@kernel
def _ask_of_base(inputs: Inputs, goal: Vec3, orientation: Quat, point: Vec3) -> None:
    """Ask for a hand or foot as base whose interaction point is at its goal."""
    copy(sub(goal, values.rotate(orientation, point)), inputs.base_position)
    copy(orientation, inputs.base_orientation)


@kernel
def _hang(puppet: Puppet, base: int, goals: Goals, pose: Pose, c: RateArrays) -> None:
    """Ask for where the base is to be, not for the pelvis' place."""
    inputs, before = c.inputs, c.state.before
    copy(pose.p[base], inputs.base_position)
    copy(pose.q[base], inputs.base_orientation)
    for i in range(4):
        inputs.active[i] = inputs.active[4 + i] = 0 if _ENDS[i] == base else 1
        inputs.carried[i] = 1.0 - ease(goals.importances[i])
        if _ENDS[i] != base:
            continue
        point = vec3(puppet.palms[i])
        if base != c.tree.base[0]:
            # it begins where it was, and what it missed there goes by and by
            _ask_of_base(inputs, before.positions[i], before.orientations[4 + i], point)
            change_base(c, base)
        _ask_of_base(inputs, inputs.positions[i], inputs.orientations[4 + i], point)


@kernel
def _out_of_reach(puppet: Puppet, goals: Goals, pose: Pose) -> float:
    """Return how far the pose is from bringing all its goals into reach of the limbs [m]."""
    worst = 0.0
    for i in range(4):
        if goals.importances[i] > 0.0:
            distance = norm(sub(pose.p[STARTS[i]], goals.wrists[i]))
            own = reach_over_importance(puppet, i, goals.importances[i])
            worst = max(worst, distance - own)
    return worst if worst > REACH_TOL_M else 0.0


@kernel
def _bend_limbs(
    puppet: Puppet, settings: Settings, goals: Goals, beyond: float, inputs: Inputs, pose: Pose
) -> None:
    """
    Bend the limbs that are imitated as far as their goals want, in closed form.

    No rate bends a straight limb, so a Jacobian cannot bring its end nearer; captured legs are
    straight whenever the performer stands. What a limb does not reach is asked for only where
    pelvis and torso are wanted, that is, where the root alone does not bring all that matters
    within reach. Otherwise it has been put there, and what matters less is not worth moving it.
    """
    for i in range(4):
        limb = limb_of(puppet, i, pose)
        wrist = add(inputs.positions[i], sub(goals.wrists[i], goals.palms[i]))
        set_limb(i, reach(limb, wrist, settings.errata), goals.q_ends[i], pose)
    update(puppet, pose)
    for joint in range(STARTS[0], 16):
        copy(pose.rotations[joint], inputs.imitated[joint])
    for i in range(4):
        kept = goals.importances[i] ** HELD_POWER * beyond / (beyond + RELAXED_M)
        copy(lerp(pose.points[i], inputs.positions[i], kept), inputs.positions[i])


@kernel
def _note_astray(inputs: Inputs, state: State, beyond: float, dt: float) -> None:
    """
    Note after a step how long the body has been astray; too long, and it will be brought back.

    Such is an arm wound about its shoulder: no small step of its hand unwinds it. Where what is
    imitated meets the goals nothing but that keeps root or joints so far from it for long.
    """
    far = norm(sub(state.p_world[0], inputs.base_position)) / ASTRAY_M
    for joint in range(1, 16):
        turn = angle_between(state.rotations[joint], inputs.imitated[joint])
        far = max(far, turn / ASTRAY_RAD)
    waited = state.astray[0] + dt if far > 1.0 and beyond == 0.0 else 0.0
    state.astray[0] = waited if waited <= PATIENCE_S else -RETURN_S


@kernel
def _approach(c: RateArrays, share: float) -> None:
    """Bring the body a fraction of the way to the posture that it imitates; 1 is all of it."""
    inputs, state = c.inputs, c.state
    place, q = state.p_world[c.tree.base[0]], state.q_world[c.tree.base[0]]
    copy(lerp(place, inputs.base_position, share), place)
    copy(values.slerp(q, inputs.base_orientation, share), q)
    for joint in range(1, 16):
        turned = values.slerp(state.rotations[joint], inputs.imitated[joint], share)
        copy(turned, state.rotations[joint])
    pose_tree(c.tree, state)


@kernel
def _copy_posture(state: State, rotations: Quats, pose: Pose) -> None:
    """Take root and rotations of the controlled body, signs as captured."""
    copy(state.p_world[0], pose.root)
    pose.rotations[0][:] = align_sign(rotations[0], state.q_world[0])
    for joint in range(1, 16):
        pose.rotations[joint] = align_sign(rotations[joint], state.rotations[joint])


# One frame.


@kernel
def solve_rate_packed(
    packed: np.ndarray,
    controller: np.ndarray,
    own: np.ndarray,
    captured: Performer,
    rows: Floats,
    dt: float,
) -> tuple[Vec3, int, bool]:
    """
    Solve a frame in place; return the root's offset [m], the steps, whether all is in reach.

    `packed` holds the thesis' Frame, `own` Numbers. The controller has the same skeleton,
    positions of the end-effectors as its first four tasks, orientations of hands and feet as the
    next.
    """
    frame, c, numbers = packed[0], controller[0], own[0]
    puppet, settings, goals, pose = frame.puppet, frame.settings, frame.goals, frame.pose
    inputs, state = c.inputs, c.state
    pose_captured(puppet, settings, captured, pose)
    fill_goals(puppet, settings, rows, pose, goals)
    first = vec3(pose.root)
    # what pelvis and angles imitate is the thesis' root; the captured place would do as well, but
    # for limbs that become straight: the pelvis would be stopped in a frame there, and let go
    copy(estimate_root(puppet, settings, goals, pose), pose.root)
    update(puppet, pose)
    captured_error = _ask(inputs, goals, pose)
    beyond = _out_of_reach(puppet, goals, pose)
    hangs = numbers.base != PELVIS
    if hangs:
        base = numbers.base
        if base == CONTACT:
            base = _contact(goals, state.before.positions, dt, c.tree.base[0])
        _hang(puppet, base, goals, pose, c)
    else:
        _bend_limbs(puppet, settings, goals, beyond, inputs, pose)
    rounds, waited = 1, state.astray[0]
    if not dt < math.inf:
        _approach(c, 1.0)
        begin(c)
        state.astray[0] = 0.0
        rounds = START_ROUNDS
    elif waited < 0.0:
        # without a step of the tasks, which would undo it; the root goes along meanwhile
        root = state.p_world[0]
        copy(add(root, sub(inputs.root_position, state.before.root)), root)
        _approach(c, min(1.0, -dt / waited))
        begin(c)
        copy(inputs.root_position, state.before.root)
        state.astray[0] = min(waited + dt, 0.0)
        rounds = 0
        state.steps[0] = 0
    elif state.error[0] > captured_error + TANGLED_M:
        _approach(c, UNTANGLING)
    for _ in range(rounds):
        advance(c)
    if rounds == 1 and not hangs:
        _note_astray(inputs, state, beyond, dt)
    _copy_posture(state, captured.rotations, pose)
    limit_joints(numbers.limits, pose.rotations, KEPT)
    update(puppet, pose)
    measure(puppet, frame.objects, rows, settings.world_scale, pose, frame.measures)
    return sub(pose.root, first), int(state.steps[0]), beyond == 0.0


# The solver.


def _rate_config(config: SolverConfig) -> RateConfig:
    """Return the controller's tuning; with a K1 of one's own nothing else corrects errors."""
    estimate = RATE_ESTIMATES.index(config.rate_estimate)
    if config.rate_estimate == 'auto':
        estimate = SECONDARY_ONLY if config.rate_base == 'pelvis' else TASKS_ONLY
    own = CONFIG._replace(k1=config.rate_k1, k2=config.rate_k2, estimate=estimate)
    return own if own.k1 == 1.0 else own._replace(max_corrections=0)


class RateControlSolver(ImportanceBasedSolver):
    """Hands and feet are tasks; captured root and angles are imitated in their null space."""

    name = 'rate_control'

    def __init__(
        self,
        character: Character,
        environment: Environment,
        performer_leg_length: float,
        config: SolverConfig,
    ) -> None:
        super().__init__(character, environment, performer_leg_length, config)
        skeleton = character.skeleton
        ends = [int(segment) for segment in LIMB_SEGMENTS[:, 2]]
        positions = [
            Task(end, POSITION, point) for end, point in zip(ends, skeleton.interaction_points)
        ]
        turns = [Task(end, ORIENTATION, weight=TURN_WEIGHT) for end in ends]
        tree = BodyTree.of_skeleton(skeleton)
        base = RATE_BASES.index(config.rate_base)
        self._numbers, _ = pack_arrays(Numbers(base, limit_arrays(character)))
        self._controller = RateController(
            tree, [*positions, *turns], _rate_config(config), base % len(SEGMENTS)
        )
        mobilities, first = self._controller.inputs.mobilities, tree.first_dofs
        mobilities[:3], mobilities[3:6] = SHIFT_MOBILITY, TURN_MOBILITY
        if base != PELVIS:
            self._controller.drive_base()
        for name in ('spine', 'chest'):
            joint = first[SEGMENT_INDEX[name]]
            mobilities[joint : joint + 3] = TORSO_MOBILITY

    def _run(
        self, captured: Performer, rows: Floats, self_rows: Floats, dt: float
    ) -> tuple[Vec3, int, bool]:
        """Solve a frame; self-interaction is not kept."""
        packed = self._packed, self._controller.packed, self._numbers
        return solve_rate_packed(*packed, captured, rows, dt)
