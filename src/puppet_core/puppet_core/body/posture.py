# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Postures at one instant and motions over time, as plain arrays with their meaning."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from puppet_core.body.kinematics import motion_kinematics
from puppet_core.body.skeleton import LIMB_SEGMENTS, N_SEGMENTS, PARENTS, Skeleton
from puppet_core.io import ConfigError
from puppet_core.math import (
    check_array,
    check_shape,
    continuous_rows,
    frozen,
    Ints,
    kernel,
    quaternions,
    Quats,
    read_only,
    Vec3,
    Vec3s,
)

_MIN_NORM = 1e-6  # of a quaternion that means a rotation

MAX_COORDINATE_M = 1e4  # no tracker reaches so far; beyond it squares lose digits
UNIT_TOL = 1e-3  # of a quaternion's squared length [-]


class Props(NamedTuple):
    """Tracked things beside the body, at one instant or, with a first axis more, over time."""

    names: tuple[str, ...]  # k of them
    positions: Vec3s  # In world, shape (..., k, 3) [m]; NaN where not known
    orientations: Quats  # In world, shape (..., k, 4); NaN where not known

    def at(self, frame_index: int | Ints) -> 'Props':
        """Return one frame of those over time, or several."""
        if not self.names:
            return NO_PROPS
        return Props(self.names, self.positions[frame_index], self.orientations[frame_index])

    @classmethod
    def over_time(cls, frames: Sequence['Props']) -> 'Props':
        """Return those of many instants; of frames with other names than the last nothing."""
        names = frames[-1].names
        if not names:
            return NO_PROPS
        unknown = cls(names, np.full((len(names), 3), np.nan), np.full((len(names), 4), np.nan))
        known = [props if props.names == names else unknown for props in frames]
        return cls(names, *(np.stack([props[k] for props in known]) for k in (1, 2)))


NO_PROPS = Props((), frozen(np.zeros((0, 3))), frozen(np.zeros((0, 4))))


@dataclass(frozen=True, slots=True)
class Posture:
    """
    All joint rotations and the root at one instant, with the end-effectors' own data.

    The end-effectors come from position measurements where there are any, so they need not
    agree with the angles to the last millimetre.
    """

    root_position: Vec3  # Pelvis joint in world, shape (3,) [m]
    rotations: Quats  # Row 0 the pelvis in world, the others relative to the parent, shape (16, 4)
    end_effectors: Vec3s  # General end-effectors in world, shape (8, 3) [m]
    end_effector_velocities: Vec3s  # Their velocities in world, shape (8, 3) [m/s]
    props: Props = NO_PROPS


@dataclass(frozen=True, slots=True)
class Motion:
    """A posture sequence at a constant rate, with the skeleton it belongs to."""

    skeleton: Skeleton  # The body that moves
    rate_hz: float  # Frames per second
    root_positions: Vec3s  # Pelvis joint in world, shape (n, 3) [m]
    rotations: Quats  # Joint rotations as in Posture, shape (n, 16, 4); signs continuous in time
    end_effectors: Vec3s  # General end-effectors in world, shape (n, 8, 3) [m]
    props: Props = NO_PROPS  # Shapes (n, k, 3) and (n, k, 4)

    def __post_init__(self) -> None:
        n = len(self.root_positions)
        if n == 0:
            raise ConfigError('motion: expected at least one frame, got none')
        if not 0.0 < self.rate_hz < 1e5:
            raise ConfigError(f'rate_hz: expected a number > 0, got {self.rate_hz}')
        names = ('root_positions', 'rotations', 'end_effectors')
        for name, shape in zip(names, [(n, 3), (n, N_SEGMENTS, 4), (n, 8, 3)]):
            values = check_array(name, getattr(self, name), shape)
            if name == 'rotations':
                squares = np.einsum('...i,...i', values, values)
                if np.any(squares < _MIN_NORM**2):
                    raise ConfigError('rotations: expected unit quaternions, got a zero one')
                if not np.isfinite(squares).all():
                    raise ConfigError(
                        'rotations: expected unit quaternions, got one that is not finite'
                    )
                signed = np.empty(values.shape)
                continuous_rows(values, signed)
                values = frozen(signed)
            object.__setattr__(self, name, read_only(values))
        k = len(self.props.names)
        if k:
            check_shape('props.positions', self.props.positions, (n, k, 3))
            check_shape('props.orientations', self.props.orientations, (n, k, 4))

    @classmethod
    def from_rotations(
        cls,
        skeleton: Skeleton,
        rate_hz: float,
        root_positions: Vec3s,
        rotations: Quats,
        props: Props = NO_PROPS,
    ) -> 'Motion':
        """Return a motion whose end-effectors are those of its own angles."""
        q_world, p_world = world_segments(skeleton, root_positions, rotations)
        points = general_end_effectors(skeleton, q_world, p_world)
        return cls(skeleton, rate_hz, root_positions, rotations, points, props)

    @property
    def n_frames(self) -> int:
        return len(self.root_positions)

    def posture(self, frame_index: int) -> Posture:
        """Return one frame; velocities are causal differences, zero at the first frame."""
        before = max(frame_index - 1, 0)
        step = self.end_effectors[frame_index] - self.end_effectors[before]
        return Posture(
            self.root_positions[frame_index],
            self.rotations[frame_index],
            self.end_effectors[frame_index],
            step * self.rate_hz,
            self.props.at(frame_index),
        )

    def end_effector_velocities(self) -> Vec3s:
        """Return causal differences of the end-effectors, shape (n, 8, 3) [m/s]."""
        velocities = np.zeros_like(self.end_effectors)
        velocities[1:] = np.diff(self.end_effectors, axis=0) * self.rate_hz
        return velocities

    def world_segments(self) -> tuple[Quats, Vec3s]:
        """Return forward kinematics of all frames: (n, 16, 4), (n, 16, 3) [m]; or ConfigError."""
        return world_segments(self.skeleton, self.root_positions, self.rotations)


def world_segments(
    skeleton: Skeleton, root_positions: Vec3s, rotations: Quats
) -> tuple[Quats, Vec3s]:
    """Return forward kinematics of all frames, (n, 16, 4) and (n, 16, 3) [m]; or ConfigError."""
    n = len(rotations)
    roots = check_shape('root_positions', root_positions, (n, 3))
    rotations = check_shape('rotations', rotations, (n, N_SEGMENTS, 4))
    q_world, p_world = np.empty((n, N_SEGMENTS, 4)), np.empty((n, N_SEGMENTS, 3))
    motion_kinematics(skeleton.offsets, roots, rotations, q_world, p_world)
    return q_world, p_world


def world_orientations(rotations: Quats) -> Quats:
    """Return segments' orientations in world from joint rotations, shapes (..., 16, 4)."""
    q_world = np.array(rotations)
    for segment in range(1, N_SEGMENTS):
        parent = q_world[..., PARENTS[segment], :]
        q_world[..., segment, :] = quaternions.multiply(parent, rotations[..., segment, :])
    return q_world


def carried_places(rotations: Quats, segments: Vec3s, points: Vec3s) -> Vec3s:
    """
    Return joints and interaction points in the frames of what carries them, (..., 19, 3) [m].

    Of segments 1 to 15 in their parents' frames, then of the points in those of hands and feet,
    from joint rotations (..., 16, 4), joints (..., 16, 3) and points (..., 4, 3) in world [m].
    """
    carriers = np.concatenate((PARENTS[1:], LIMB_SEGMENTS[:, 2]))
    places = np.concatenate((segments[..., 1:, :], points), axis=-2) - segments[..., carriers, :]
    to_carriers = quaternions.conjugate(world_orientations(rotations)[..., carriers, :])
    return quaternions.rotate(to_carriers, places)


def general_end_effectors(skeleton: Skeleton, q_world: Quats, p_world: Vec3s) -> Vec3s:
    """Return the general end-effectors (n, 8, 3) [m] of segments in world."""
    ends, middles = LIMB_SEGMENTS[:, 2], LIMB_SEGMENTS[:, 1]
    points = quaternions.rotate(q_world[:, ends], skeleton.interaction_points)
    return np.concatenate((points + p_world[:, ends], p_world[:, middles]), axis=1)


@kernel
def is_posture(root: Vec3, segments: Vec3s, rotations: Quats) -> bool:
    """Return whether places [m] are finite and in range and rotations are of unit length."""
    # every comparison is false for NaN
    for k in range(3):
        if not abs(root[k]) <= MAX_COORDINATE_M:
            return False
    for i in range(len(segments)):
        square = 0.0
        for k in range(3):
            if not abs(segments[i, k]) <= MAX_COORDINATE_M:
                return False
        for k in range(4):
            square += rotations[i, k] * rotations[i, k]
        if not abs(square - 1.0) <= UNIT_TOL:
            return False
    return True
