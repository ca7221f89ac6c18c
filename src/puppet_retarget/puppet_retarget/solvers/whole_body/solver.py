# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The whole-body solver: one weighted least-squares problem a frame for puppet or robot."""

import numpy as np
from puppet_core.body import (
    ADULT_LEG_M,
    Character,
    end_effector_positions,
    forward_kinematics,
    LIMB_SEGMENTS,
    N_SEGMENTS,
    NO_PROPS,
    Props,
)
from puppet_core.math import copy, Floats, kernel, pack_arrays, Quats, Vec3
from puppet_core.math.values import add, norm, scale, sub, vec3
from puppet_retarget.importance import (
    body_arrays,
    Counterparts,
    distance_from,
    Environment,
    filled_up,
    puppet_solid,
    UNSEEN,
)
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.interface import NO_RESTS, NOTHING_NEAR, SolverOutput
from puppet_retarget.solvers.joint_limits import limit_arrays
from puppet_retarget.solvers.whole_body.carried import place_things
from puppet_retarget.solvers.whole_body.collisions import overlaps_of
from puppet_retarget.solvers.whole_body.frame import Frame, Gaze, Memory, Thing, Wishes
from puppet_retarget.solvers.whole_body.gaze import EYES_M
from puppet_retarget.solvers.whole_body.hinges import follow_rotations
from puppet_retarget.solvers.whole_body.mounts import place_mounts
from puppet_retarget.solvers.whole_body.own_body import depth_of
from puppet_retarget.solvers.whole_body.problem import N, Problem
from puppet_retarget.solvers.whole_body.stance import least_stance
from puppet_retarget.solvers.whole_body.step import solve_frame
from puppet_retarget.solvers.whole_body.tree import hinge_unknowns, Tree, tree_of
from puppet_retarget.solvers.whole_body.weights import Weights
from puppet_retarget.solvers.whole_body.wishes import Captured, fill_wishes
from puppet_retarget.solvers.whole_body.world import goal_of

WEIGHTS = Weights()


class WholeBodySolver:
    """Retargets frames of one performer; remembers the corrections of the last two."""

    name = 'whole_body'

    def __init__(
        self,
        character: Character,
        environment: Environment,
        performer_leg_length: float,
        config: SolverConfig,
        weights: Weights = WEIGHTS,
    ) -> None:
        world_scale = character.scale_for(performer_leg_length)
        ratio = config.root_height_ratio or character.root_ratio_for(performer_leg_length)
        tree = tree_of(character)
        body = body_arrays(character.skeleton, character.capsules)
        objects = filled_up(environment.arrays(1.0, 0.0, world_scale))
        n = len(objects.shapes)
        leg_lengths = performer_leg_length, character.skeleton.leg_length
        self._packed, frame = pack_arrays(
            Frame(
                tree,
                weights,
                limit_arrays(character),
                body.shape,
                body.samples,
                character.skeleton.offsets[LIMB_SEGMENTS[2:, 0]].mean(axis=0),
                np.outer(np.divide(leg_lengths, ADULT_LEG_M), EYES_M),
                objects,
                world_scale,
                ratio,
                (ratio - world_scale) * performer_leg_length,
                _stiffness(tree, weights),
                np.zeros((n, N_SEGMENTS)),
                stance=0.0 if character.robot is None else least_stance(character),
                wishes=Wishes(
                    thing=Thing(shares=np.zeros(n), resting=np.zeros((n, 3))),
                    gaze=Gaze(shares=np.zeros(n), places=np.zeros((n, 3))),
                ),
                memory=Memory(displaced=np.zeros((n, 3))),
                problem=Problem(tree.n + 3),
            )
        )
        frame.overlaps[:] = overlaps_of(self._packed, tree)
        self._memory, self._limits = frame.memory, (tree.lower, tree.upper)
        self._counterparts, self._objects = Counterparts(environment), frame.objects
        self._world_scale = world_scale
        pose = frame.pose
        self._output = SolverOutput(
            pose.p[0],
            pose.rotations,
            pose.q,
            pose.p,
            pose.ends,
            np.zeros(3),
            np.zeros(4),
            np.zeros(4),
            np.zeros(8),
            0,
            True,
        )
        robot = character.robot
        self._unknowns = np.zeros(0, dtype=np.int64) if robot is None else hinge_unknowns(robot)
        if robot is not None:
            held = [angle for _, angle in robot.held]
            self._output.angles = np.concatenate((np.zeros(len(robot.names)), held))

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
        Return the puppet's posture; as `Solver.solve`.

        `rests` are those of `importance.rests`; by default only hands and feet touch the world.
        """
        if len(rows) not in (4, 8):
            raise ValueError(f'rows: expected 4 or 8, got {len(rows)}')
        self._counterparts.place(moving, self._objects, self._world_scale)
        captured = Captured(root, hips, rotations, head)
        output = self._output
        output.body_iterations = solve_packed(self._packed, captured, rows, self_rows, rests, dt)
        self._bring_up_to_date()
        return output

    def repose(self, rows: Floats) -> None:
        """Bring the output up to date with its root and rotations, which were changed since."""
        repose_packed(self._packed)
        self._bring_up_to_date()

    def _bring_up_to_date(self) -> None:
        """Measure the posture, and put into the output where the objects that move are."""
        output, objects, own = self._output, self._objects, self._counterparts.indices
        measure_packed(self._packed, output.goal_errors, output.penetrations, output.self_depths)
        output.angles[: len(self._unknowns)] = self._memory.joints[self._unknowns]
        if own:
            places = objects.puppet_positions[own], objects.puppet_orientations[own]
            output.moving = Props(self._counterparts.names, *places)

    def resume(self, angles: Floats, rates: Floats) -> None:
        """
        Go on from a robot's joints and how fast they are, (n,) each [rad], [rad/s].

        In the order of its published names.
        """
        memory, own, n = self._memory, self._unknowns, len(self._unknowns)
        lower, upper = self._limits
        memory.known[0] = 1.0
        memory.joints[own] = np.clip(angles[:n], lower[own], upper[own])
        memory.rates[own] = rates[:n]
        memory.angles[:] = memory.joints


def _stiffness(tree: Tree, weights: Weights) -> Floats:
    """Return the weight of the posture for each unknown."""
    stiffness = np.ones(N)
    for segment, weight in ((0, weights.pelvis), (1, weights.trunk), (2, weights.trunk)):
        first = tree.first[segment]
        stiffness[first : first + tree.counts[segment]] = weight
    stiffness[tree.n - 3 :] = weights.root  # and of what is carried
    return stiffness


@kernel
def solve_packed(
    packed: np.ndarray,
    captured: Captured,
    rows: Floats,
    self_rows: Floats,
    rests: Floats,
    dt: float,
) -> int:
    """Solve a frame in place; return the number of steps. `packed` holds a Frame."""
    frame = packed[0]
    fill_wishes(frame, captured, rows, self_rows, rests, dt)
    return solve_frame(frame)


@kernel
def repose_packed(packed: np.ndarray) -> None:
    """Pose segments, ends and what hands hold by a root and rotations that were changed."""
    frame = packed[0]
    pose, tree, n = frame.pose, frame.tree, frame.tree.n
    before = add(pose.ends[0], pose.ends[1])
    if tree.is_robot:
        follow_rotations(frame)
    else:
        forward_kinematics(tree.offsets, vec3(pose.p[0]), pose.rotations[:], pose.q[:], pose.p[:])
        end_effector_positions(tree.points, pose.q[:], pose.p[:], pose.ends[:])
    palms = scale(sub(add(pose.ends[0], pose.ends[1]), before), 0.5)
    copy(add(frame.x[n : n + 3], palms), frame.x[n : n + 3])
    place_things(frame)


@kernel
def measure_packed(
    packed: np.ndarray, goal_errors: Floats, penetrations: Floats, self_depths: Floats
) -> None:
    """
    Fill how far hands and feet are from their goals and in objects, (4,) each [m].

    And how deep all general end-effectors are in the own body, (8,) [m]. What is fixed to segments
    goes with them.
    """
    frame = packed[0]
    for j in range(4):
        goal_errors[j] = norm(sub(frame.pose.ends[j], goal_of(frame, j)))
        penetrations[j] = 0.0
        for k in range(frame.objects.n_objects):
            if frame.objects.segments[k] < 0:
                solid = puppet_solid(frame.objects, k)
                distance, _ = distance_from(solid, vec3(frame.pose.ends[j]))
                penetrations[j] = max(penetrations[j], -distance)
    for j in range(8):
        self_depths[j] = depth_of(frame, j)
    place_mounts(frame)
