# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop inverse rate control of the whole puppet at once (ChoiKo2000), live."""

from puppet_core.arrays import Floats, Quats, Vec3
from puppet_core.character import Character
from puppet_core.skeleton import LIMB_SEGMENTS, SEGMENT_INDEX
from puppet_retarget.importance.environment import Environment
from puppet_retarget.solvers.end_effector_solver import EndEffectorSolver, NOTHING_NEAR
from puppet_retarget.solvers.frame_kernels import REACHABLE_TOL_M
from puppet_retarget.solvers.puppet_model import SolverConfig
from puppet_retarget.solvers.rate.controller import RateConfig, RateController
from puppet_retarget.solvers.rate.live_kernels import solve_rate_packed
from puppet_retarget.solvers.rate.step_kernels import WISH_FIRST
from puppet_retarget.solvers.rate.tasks import ORIENTATION, POSITION, Task
from puppet_retarget.solvers.rate.tree import BodyTree
from puppet_retarget.solvers.solver import SolverOutput

TURN_WEIGHT = 0.3  # of the orientations of hands and feet: a radian counts as 0.3 m
SHIFT_MOBILITY, TURN_MOBILITY, TORSO_MOBILITY = 0.2, 0.1, 0.2
"""How readily pelvis and torso move for hands and feet; the joints of the limbs 1 [-]."""
CONFIG = RateConfig(tolerance=1e-4, estimate=WISH_FIRST)


class RateControlSolver(EndEffectorSolver):
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
        self._controller = RateController(tree, [*positions, *turns], CONFIG)
        mobilities, first = self._controller.inputs.mobilities, tree.first_dofs
        mobilities[:3], mobilities[3:6] = SHIFT_MOBILITY, TURN_MOBILITY
        for name in ('spine', 'chest'):
            joint = first[SEGMENT_INDEX[name]]
            mobilities[joint: joint + 3] = TORSO_MOBILITY

    def solve(
        self, root: Vec3, hips: Vec3, rotations: Quats, rows: Floats, dt: float,
        self_rows: Floats = NOTHING_NEAR,
    ) -> SolverOutput:  # fmt: skip
        """Return the puppet's posture; see `Solver.solve`. Self-interaction is not kept."""
        output = self._output
        output.body_iterations = solve_rate_packed(
            self.packed, self._controller.packed, root, hips, rotations, rows, self_rows, dt
        )
        output.reachable = self._relaxation[0] <= REACHABLE_TOL_M
        return output
