# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The whole-body solver: one weighted least-squares problem a frame for puppet or robot."""

import numpy as np
from puppet_core.body import Character, LIMB_SEGMENTS, N_SEGMENTS, NO_PROPS, Props
from puppet_core.math import Floats, kernel, pack_arrays, Quats, Vec3
from puppet_core.math.values import norm, sub, vec3
from puppet_retarget.importance import body_arrays, Counterparts, Environment, filled_up, UNSEEN
from puppet_retarget.solvers.config import SolverConfig
from puppet_retarget.solvers.interface import NO_RESTS, NOTHING_NEAR, SolverOutput
from puppet_retarget.solvers.joint_limits import limit_arrays
from puppet_retarget.solvers.whole_body.frame import Frame
from puppet_retarget.solvers.whole_body.own_body import depth_of
from puppet_retarget.solvers.whole_body.problem import N, Problem
from puppet_retarget.solvers.whole_body.step import solve_frame
from puppet_retarget.solvers.whole_body.tree import Tree, tree_of
from puppet_retarget.solvers.whole_body.weights import Weights
from puppet_retarget.solvers.whole_body.wishes import Captured, fill_wishes
from puppet_retarget.solvers.whole_body.world import from_object

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
        scale = character.scale_for(performer_leg_length)
        ratio = config.root_height_ratio or character.root_ratio_for(performer_leg_length)
        tree, objects = tree_of(character), filled_up(environment.arrays(1.0, 0.0, scale))
        body = body_arrays(character.skeleton, character.capsules)
        self._packed, frame = pack_arrays(
            Frame(
                tree,
                weights,
                limit_arrays(character),
                body.shape,
                body.samples,
                character.skeleton.offsets[LIMB_SEGMENTS[2:, 0]].mean(axis=0),
                objects,
                scale,
                ratio,
                _stiffness(tree, weights),
                np.zeros((len(objects.shapes), N_SEGMENTS)),
                problem=Problem(tree.n + 3),
            )
        )
        self._counterparts, self._objects = Counterparts(environment), frame.objects
        self._world_scale = scale
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
        captured = Captured(root, hips, rotations)
        output = self._output
        output.body_iterations = solve_packed(self._packed, captured, rows, self_rows, rests, dt)
        measure_packed(self._packed, output.goal_errors, output.penetrations, output.self_depths)
        return output


def _stiffness(tree: Tree, weights: Weights) -> Floats:
    """Return the weight of the posture for each unknown."""
    stiffness = np.ones(N)
    for segment, weight in ((0, weights.pelvis), (1, weights.trunk), (2, weights.trunk)):
        first = tree.first[segment]
        stiffness[first : first + tree.counts[segment]] = weight
    stiffness[tree.n - 3 : tree.n] = weights.root
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
def measure_packed(
    packed: np.ndarray, goal_errors: Floats, penetrations: Floats, self_depths: Floats
) -> None:
    """
    Fill how far hands and feet are from their goals and in objects, (4,) each [m].

    And how deep all general end-effectors are in the own body, (8,) [m].
    """
    frame = packed[0]
    for j in range(4):
        goal_errors[j] = norm(sub(frame.pose.ends[j], frame.wishes.goals[j]))
        penetrations[j] = 0.0
        for k in range(frame.objects.n_objects):
            distance, _ = from_object(frame.objects, k, vec3(frame.pose.ends[j]))
            penetrations[j] = max(penetrations[j], -distance)
    for j in range(8):
        self_depths[j] = depth_of(frame, j)
