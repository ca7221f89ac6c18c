# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A motion that is being edited, as arrays with their forward kinematics."""

import numpy as np
from puppet_core.arrays import Floats, Ints, Quats, Vec3s
from puppet_core.kernel import kernel
from puppet_core.kinematics import end_effector_positions
from puppet_core.posture import Motion
from puppet_core.skeleton import N_SEGMENTS, Skeleton
from puppet_retarget.editing.displacement_kernels import displace
from puppet_retarget.editing.edit_config import Bodies
from puppet_retarget.editing.frame_solver_kernels import place_frames
from puppet_retarget.editing.limit_row_kernels import keep_limits


class MovingBody:
    """Root positions, rotations, and where all segments are; changed by displacement maps."""

    def __init__(self, motion: Motion, bodies: Bodies) -> None:
        self._motion, self._bodies = motion, bodies
        self._offsets, self._before = np.array(bodies.offsets), np.array(motion.rotations)
        self.roots: Vec3s = np.array(motion.root_positions)
        self.rotations: Quats = np.array(motion.rotations)
        self.q_world: Quats = np.empty_like(self.rotations)
        self.p_world: Vec3s = np.empty((*self.rotations.shape[:2], 3))
        self._place()

    @property
    def n_frames(self) -> int:
        """Return the number of frames."""
        return len(self.roots)

    @property
    def skeleton(self) -> Skeleton:
        """Return the body, or what stands for it where it changes."""
        return self._motion.skeleton

    def displace(self, displacements: Floats) -> None:
        """Apply a displacement map, shape (n, 51)."""
        displace(displacements, self.roots, self.rotations)
        self._place()

    def keep_limits(self, limits: Floats) -> None:
        """Bring displaced joints back to their limits, as in PoseTask."""
        keep_limits(limits, self._before, self.rotations)
        self._place()

    def placed(self, frames: Ints, roots: Vec3s, rotations: Quats) -> tuple[Quats, Vec3s]:
        """Return where the segments are in other postures of some frames."""
        q_world, p_world = np.empty_like(rotations), np.empty((len(frames), N_SEGMENTS, 3))
        place_frames(self._offsets[frames], roots, rotations, q_world, p_world)
        return q_world, p_world

    def motion(self) -> Motion:
        """Return what has become of the motion, with the end-effectors of its angles."""
        points = np.empty((self.n_frames, 8, 3))
        interaction = np.array(self._bodies.interaction_points)
        _end_effectors(interaction, self.q_world, self.p_world, points)
        return Motion(
            self.skeleton, self._motion.rate_hz, self.roots.copy(), self.rotations.copy(), points
        )

    def _place(self) -> None:
        place_frames(self._offsets, self.roots, self.rotations, self.q_world, self.p_world)


@kernel
def _end_effectors(interaction: Vec3s, q_world: Quats, p_world: Vec3s, out: Vec3s) -> None:
    for frame in range(len(out)):
        end_effector_positions(
            interaction[frame], q_world[frame], p_world[frame], out[frame]
        )
