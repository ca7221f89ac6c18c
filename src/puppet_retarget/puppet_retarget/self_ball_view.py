# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The range balls of a puppet's own body, worked out once more from what the topics carry.

No message has them. The solver takes them from the puppet before its limbs are posed; that
posture is had back from the torso of the one that was published and the captured limbs, so the
balls are those of the solver, by its own kernel. Where the published posture was eased after a
gap, or joint limits bent the torso, they belong to what is seen and not to what was solved.

"""

import numpy as np
from puppet_core.arrays import Floats, Quats, Vec3
from puppet_core.character import Character
from puppet_core.kinematics import end_effector_positions, forward_kinematics
from puppet_core.posture import Posture
from puppet_core.posture_check import is_posture
from puppet_core.skeleton import LIMB_SEGMENTS
from puppet_retarget.importance.body_arrays import body_arrays
from puppet_retarget.importance.contact_rows import SELF_ROW
from puppet_retarget.importance.estimator import IMPORTANCE, ROW
from puppet_retarget.solvers.input_check import is_usable
from puppet_retarget.solvers.self_targets import empty_self_balls, limb_self_balls, SelfBalls


class SelfBallView:
    """The range balls of one character."""

    def __init__(self, character: Character) -> None:
        skeleton = character.skeleton
        self._offsets = skeleton.offsets.copy()
        self._interaction_points = skeleton.interaction_points.copy()
        self._samples = body_arrays(skeleton, character.capsules).samples
        self._q_world, self._p_world = np.zeros((16, 4)), np.zeros((16, 3))
        self._points = np.zeros((8, 3))
        self._balls = empty_self_balls()
        self._warm_up()

    def balls(
        self, puppet: Posture, captured: Quats, rows: Floats, self_rows: Floats,
        world_scale: float,
    ) -> SelfBalls:  # fmt: skip
        """
        Return the balls of one frame, overwritten by the next call; none if it is not usable.

        Parameters
        ----------
        puppet : Posture
            The puppet, of this character.
        captured : ndarray, shape (16, 4)
            The performer's joint rotations.
        rows, self_rows : ndarray, shapes (4, 8), (8, SELF_ROW)
            Importance for the environment, and what of the own body is near.
        world_scale : float
            Size of the puppet's world over the performer's.

        """
        self._balls.importances[:] = 0.0
        root, rotations = np.array(puppet.root_position), np.array(puppet.rotations)
        rows, self_rows = np.array(rows), np.array(self_rows)
        # as retarget checks its input; the joints' positions are not used here
        if not (
            is_usable(root, self._p_world, captured, rows, self_rows)
            and is_posture(root, self._p_world, rotations)
        ):
            return self._balls
        limbs, legs = LIMB_SEGMENTS.ravel(), LIMB_SEGMENTS[2:].ravel()
        legs_posed = rotations[legs]
        rotations[limbs] = captured[limbs]
        self._fill((2, 3), root, rotations, rows, self_rows, world_scale)
        # arms find the legs as they were posed before them
        rotations[legs] = legs_posed
        self._fill((0, 1), root, rotations, rows, self_rows, world_scale)
        return self._balls

    def _warm_up(self) -> None:
        """Compile before the first message."""
        rest = np.tile([1.0, 0.0, 0.0, 0.0], (16, 1))
        nothing = np.zeros((8, 3))
        self.balls(
            Posture(np.zeros(3), rest, nothing, nothing), rest, np.zeros((4, ROW)),
            np.zeros((8, SELF_ROW)), 1.0,
        )  # fmt: skip

    def _fill(
        self, limbs: tuple[int, int], root: Vec3, rotations: Quats, rows: Floats,
        self_rows: Floats, world_scale: float,
    ) -> None:  # fmt: skip
        """Fill the balls of two limbs, found with the puppet in this posture."""
        q_world, p_world = self._q_world, self._p_world
        forward_kinematics(self._offsets, root, rotations, q_world, p_world)
        end_effector_positions(self._interaction_points, q_world, p_world, self._points)
        for limb in limbs:
            limb_self_balls(
                limb, rows[limb, IMPORTANCE], self_rows, self._samples, world_scale, q_world,
                p_world, self._points, self._balls,
            )  # fmt: skip
