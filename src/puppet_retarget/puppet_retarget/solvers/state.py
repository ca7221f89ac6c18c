# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernels of a frame share: the puppet, tuning, goals, posture, working space."""

from typing import NamedTuple

import numpy as np
from puppet_core.body import (
    ADULT_LEG_M,
    Character,
    end_effector_positions,
    forward_kinematics,
    LIMB_SEGMENTS,
    segment_distance,
    shape_arrays,
)
from puppet_core.math import add, copy, Floats, frozen, kernel, Quats, sub, Vec3, Vec3s
from puppet_retarget.importance import body_arrays, BodyArrays
from puppet_retarget.solvers.body import BodyState
from puppet_retarget.solvers.config import CAPTURED_SIDE, RATE_BASES, ROOT_FORMS, SolverConfig
from puppet_retarget.solvers.joint_limits import limit_arrays, LimitArrays
from puppet_retarget.solvers.limbs import ATTACHED_TO, Bones, Joints, Limb, limb_of, STARTS
from puppet_retarget.solvers.self_contact import empty_self_balls, SelfBalls


class PuppetModel(NamedTuple):
    """The puppet's lengths and shape."""

    offsets: Vec3s  # (16, 3)
    interaction_points: Vec3s  # (4, 3)
    upper_lengths: Floats  # (4,)
    lower_lengths: Floats  # (4,)
    hip_centre: Floats  # (3,) mean of the hip joints in the pelvis' frame
    body: BodyArrays
    limits: LimitArrays
    sizes: Floats  # (8,) of general end-effectors in its own body, 0 but for a robot's arms
    fingers: Floats  # (2, 2, 3) from the palms to two fingertips, in the hands' frames
    finger_sizes: Floats  # (2, 2) as `sizes`


class Tuning(NamedTuple):
    """Numbers the kernels need: `SolverConfig`, world scale and root ratio worked out."""

    world_scale: float
    root_ratio: float
    joint_limits: bool
    root_form: int
    root_softness: float
    root_smoothing_s: float
    stretch_limit: float
    posture_weight: float
    orientation_weight: float
    position_weight: float
    max_iterations: int
    torso_segments: int
    self_push_out: bool
    rate_base: int
    limb_form: int = CAPTURED_SIDE
    performer_size: float = 1.0  # an adult's is 1
    puppet_size: float = 1.0


def puppet_model(character: Character) -> PuppetModel:
    """Return a character's lengths and shape as writable kernel arrays."""
    skeleton = character.skeleton
    lengths = skeleton.limb_lengths
    return PuppetModel(
        skeleton.offsets.copy(),
        skeleton.interaction_points.copy(),
        np.ascontiguousarray(lengths[:, 0]),
        np.ascontiguousarray(lengths[:, 1]),
        skeleton.offsets[LIMB_SEGMENTS[2:, 0]].mean(axis=0),
        body_arrays(skeleton, character.capsules),
        limit_arrays(character),
        *_arm_sizes(character),
    )


def _arm_sizes(character: Character) -> tuple[Floats, Floats, Floats]:
    """
    Return `sizes`, `fingers` and `finger_sizes` of a `PuppetModel`.

    One fingertip is as far from the wrist as there is, the other as far as there is from it.
    """
    sizes, fingers, finger_sizes = np.zeros(8), np.zeros((2, 2, 3)), np.zeros((2, 2))
    shape = shape_arrays(character.capsules)

    def size(segment: int, point: Vec3) -> float:
        depth = -segment_distance(shape, segment, point) if character.robot else 0.0
        return max(depth, 0.0)

    for limb, (_, elbow, hand) in enumerate(LIMB_SEGMENTS[:2]):
        palm = character.skeleton.interaction_points[limb]
        own = [c for c in character.capsules if c.segment == hand]
        tips = [max(c.start, c.end, key=np.linalg.norm) for c in own]
        first = max(tips, key=np.linalg.norm, default=palm)
        both = first, max(tips, key=lambda tip: np.linalg.norm(tip - first), default=palm)
        sizes[[limb, limb + 4]] = size(hand, palm), size(elbow, np.zeros(3))
        fingers[limb] = both - palm
        finger_sizes[limb] = [size(hand, tip) for tip in both]
    return sizes, fingers, finger_sizes


def tuning(config: SolverConfig, character: Character, performer_leg_length: float) -> Tuning:
    """Return the kernels' numbers for this puppet and a performer's leg length [m]."""
    own = {name: getattr(config, name) for name in Tuning._fields if hasattr(config, name)}
    ratio = config.root_height_ratio or character.root_ratio_for(performer_leg_length)
    own['root_form'] = ROOT_FORMS.index(config.root_form)
    own['rate_base'] = RATE_BASES.index(config.rate_base)
    own['performer_size'] = performer_leg_length / ADULT_LEG_M
    own['puppet_size'] = character.skeleton.leg_length / ADULT_LEG_M
    scale = character.scale_for(performer_leg_length)
    return Tuning(scale, ratio, bool(character.joint_limits), **own)


# Defaults are copied when a solver packs its arrays.


def zeros(*shape: int) -> Floats:
    """Return zeros that refuse writes."""
    return frozen(np.zeros(shape))


class RootBalls(NamedTuple):
    """The balls in which the root reaches each general end-effector's goal; working space."""

    centres: Vec3s = zeros(8, 3)  # [m]
    radii: Floats = zeros(8)  # [m]
    slacks: Floats = zeros(8)  # growth of a radius per unit of relaxation
    strain: Floats = zeros(8)  # how far captured angles miss the goal, in [0, 1)
    inner_centres: Vec3s = zeros(8, 3)  # of the smaller balls of the softening
    inner_radii: Floats = zeros(8)


class RangeGoals(NamedTuple):
    """What the environment asks of the puppet, in its own world; kept by a solver."""

    positions: Vec3s = zeros(8, 3)  # [m]
    importances: Floats = zeros(8)
    radii: Floats = zeros(8)  # of the range balls [m]


class Goals(NamedTuple):
    """What the puppet should do, in its own world."""

    positions: Vec3s  # (8, 3) [m]
    importances: Floats  # (8,)
    radii: Floats  # (8,) of the range balls [m]
    self_rows: Floats  # (8, SELF_ROW) the performer's self-interaction


class Frame(NamedTuple):
    """The puppet's posture and working space, owned by a solver and refilled each frame."""

    root: Vec3 = zeros(3)
    rotations: Quats = zeros(16, 4)
    q_world: Quats = zeros(16, 4)
    p_world: Vec3s = zeros(16, 3)
    end_effectors: Vec3s = zeros(8, 3)
    root_offset: Vec3 = zeros(3)  # from the reference root to the estimate
    goal_errors: Floats = zeros(4)
    penetrations: Floats = zeros(4)
    self_depths: Floats = zeros(8)  # depth inside the puppet's own body
    mounted: Vec3s = zeros(8, 3)  # how far goals have gone with what is fixed to segments [m]
    wrist_goals: Vec3s = zeros(4, 3)
    q_ends: Quats = zeros(4, 4)  # captured orientations of hands and feet in world
    stretches: Vec3s = zeros(2, 3)  # of arms as captured, see `PosedBody`
    turns: Quats = zeros(4, 4)  # of hands and feet with the counterparts that they are at
    balls: RootBalls = RootBalls()
    self_balls: SelfBalls = empty_self_balls()
    second_balls: SelfBalls = empty_self_balls()  # for hands that have come half way
    bounding_centres: Vec3s = zeros(16, 3)
    clear_points: Vec3s = zeros(8, 3)  # where end-effectors are outside of the body
    body: BodyState = BodyState()
    trial: BodyState = BodyState()  # working space of the minimiser
    relaxation: Floats = zeros(1)  # growth of the balls that gives them a common point; 0 in reach
    follower: Floats = zeros(3, 2)  # smoothing of the root; memory, as those below
    head: Vec3 = zeros(3)  # the performer's head joint in its world [m]
    captured: Quats = zeros(16, 4)  # joint rotations of the limbs before they are posed
    free_rotations: Quats = zeros(16, 4)  # of the limbs before the own body counts
    free_ends: Vec3s = zeros(4, 3)  # palms and soles then
    wanted_push: Vec3 = zeros(3)  # of the root out of objects [m]
    push: Floats = zeros(3, 2)  # its smoothing
    lift: Floats = zeros(2)  # of the root out of planes, and its smoothing on the way back
    lift_up: Vec3 = zeros(3)  # its direction
    tilts: Floats = zeros(4, 7)  # turn of each hand and foot out of objects, its rate [rad/s]
    # turn of each limb's joint for the own body, of the head for its gaze, and its rate [rad/s]
    corrections: Floats = zeros(16, 7)


@kernel
def update_kinematics(model: PuppetModel, frame: Frame) -> None:
    """Bring segments and end-effectors up to date with root and rotations."""
    forward_kinematics(model.offsets, frame.root, frame.rotations, frame.q_world, frame.p_world)
    end_effector_positions(
        model.interaction_points, frame.q_world, frame.p_world, frame.end_effectors
    )


@kernel
def move_with_root(frame: Frame) -> None:
    """Bring joints and end-effectors up to date with a root that only moved."""
    way = sub(frame.root, frame.p_world[0])
    for segment in range(16):
        copy(add(frame.p_world[segment], way), frame.p_world[segment])
    for i in range(8):
        copy(add(frame.end_effectors[i], way), frame.end_effectors[i])


@kernel
def limb_at(model: PuppetModel, frame: Frame, limb: int, rotations: Quats, q_end: Floats) -> Limb:
    """Return a limb of the puppet with some joint rotations, shape (16, 4)."""
    start = STARTS[limb]
    return limb_of(
        limb,
        frame.q_world[ATTACHED_TO[limb]],
        frame.p_world[start],
        rotations[start : start + 3],
        q_end,
        Bones(
            model.offsets[start + 1 : start + 3],
            model.upper_lengths[limb],
            model.lower_lengths[limb],
        ),
    )


@kernel
def set_joints(rotations: Quats, limb: int, joints: Joints) -> None:
    """Write the joint rotations of a limb into those of all segments."""
    for i in range(3):
        copy(joints[i], rotations[STARTS[limb] + i])
