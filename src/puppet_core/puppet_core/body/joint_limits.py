# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How far a joint turns: an elliptic cone for the swing, before it a range for the twist."""

from dataclasses import dataclass
import math

import numpy as np
from puppet_core.body.skeleton import SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_core.io import ConfigError, Section
from puppet_core.math import check_array, Floats, kernel, Quat, read_only, Vec3
from puppet_core.math import quaternions as qb
from puppet_core.math.values import cross, dot, normalized, scale, sub, Vec3Like
from puppet_core.math.values import Vec3 as Value

SECTION = 'joint_limits'
SWING, CENTRE, TWIST = 'swing_deg', 'swing_centre_rpy_deg', 'twist_deg'  # keys of a joint
MIN_ANGLE_DEG = 1.0  # half an angle or range below this is a weld, not a limit
MAX_ANGLE_DEG = 150.0  # limits of more leave no room to fade out before half a turn
_SAVED_DIGITS = 10  # of degrees: brings back the number that was read


@dataclass(frozen=True, slots=True)
class JointLimit:
    """The limits of one joint's rotation, all angles in radians."""

    segment: int  # Index into SEGMENTS of the joint's segment; not the pelvis
    # Half angles of the cone about the two axes that `swing_axes` names, shape (2,) [rad]
    swing: Floats
    twist: Floats  # Least and greatest turn about the segment's axis, shape (2,) [rad]
    # Roll, pitch, yaw of the rotation that is mid-cone, about which all is measured [rad]
    centre_rpy: Vec3

    def __post_init__(self) -> None:
        for name, shape in (('swing', (2,)), ('twist', (2,)), ('centre_rpy', (3,))):
            values = read_only(check_array(name, getattr(self, name), shape))
            object.__setattr__(self, name, values)
        low, high = math.radians(MIN_ANGLE_DEG) - 1e-12, math.radians(MAX_ANGLE_DEG) + 1e-12
        angles = (*self.swing, 0.5 * (self.twist[1] - self.twist[0]))
        if not all(low <= angle <= high for angle in angles):
            raise ConfigError(
                f'joint limit: expected half angles of {MIN_ANGLE_DEG:g} .. {MAX_ANGLE_DEG:g} '
                f'degrees, got {np.degrees(angles).round(3).tolist()}'
            )
        if not 1 <= self.segment < len(SEGMENTS):
            raise ConfigError(f'joint limit: expected a joint 1 .. 15, got {self.segment}')

    @property
    def centre(self) -> Quat:
        """Rotation of the joint that is mid-cone, shape (4,)."""
        return qb.from_rpy(self.centre_rpy)

    def mirrored(self) -> 'JointLimit':
        """Return the limit of the joint on the right that has this one as its mirror image."""
        name = SEGMENTS[self.segment].replace('left_', 'right_')
        centre = self.centre_rpy * [-1.0, 1.0, -1.0]
        return JointLimit(SEGMENT_INDEX[name], self.swing, -self.twist[::-1], centre)


def segment_axis(skeleton: Skeleton, segment: int) -> Vec3:
    """
    Return the unit axis about which a joint twists, in its segment's frame at rest.

    It points to the next joint; a hand goes on as its forearm, a foot points ahead, the head up.
    """
    axis = np.array([0.0, 0.0, 1.0])
    name = SEGMENTS[segment]
    if name.endswith('_foot'):
        axis = np.array([1.0, 0.0, 0.0])
    elif name.endswith('_hand'):
        axis = skeleton.offsets[segment]
    elif name != 'head':
        axis = skeleton.offsets[segment + 1]
    length = np.linalg.norm(axis)
    # only spine and chest may be without length
    return axis / length if length > 0.0 else np.array([0.0, 0.0, 1.0])


@kernel
def swing_axes(axis: Vec3Like) -> tuple[Value, Value]:
    """
    Return the two unit axes, square to a segment's own, about which its swing is measured.

    The first is X, for a segment along X it is Y, made square to the segment; the second
    completes the three. Of a segment along Y or Z these are X and the third axis, of a foot Y
    and Z; the sign of the second does not matter to a cone.
    """
    along_x = abs(axis[0]) >= abs(axis[1]) and abs(axis[0]) >= abs(axis[2])
    reference = (0.0, 1.0, 0.0) if along_x else (1.0, 0.0, 0.0)
    first = normalized(sub(reference, scale(axis, dot(reference, axis))))
    return first, cross(axis, first)


def read_joint_limits(source: Section) -> tuple[JointLimit, ...]:
    """Return the limits of a character file, none without the section; or InputFileError."""
    section = source.section(SECTION, optional=True)
    limits = []
    for segment, name in enumerate(SEGMENTS[1:], start=1):
        left = name.replace('right_', 'left_')
        if name in section:
            limits.append(_read_limit(section.section(name), segment))
        elif left in section:
            limits.append(_read_limit(section.section(left), SEGMENT_INDEX[left]).mirrored())
    section.finish()
    return tuple(limits)


def joint_limits_tree(limits: tuple[JointLimit, ...]) -> dict[str, dict[str, list[float]]]:
    """Return the section of a character file that reads back to these limits."""
    return {
        SEGMENTS[limit.segment]: {
            key: np.degrees(values).round(_SAVED_DIGITS).tolist()
            for key, values in (
                (SWING, limit.swing),
                (CENTRE, limit.centre_rpy),
                (TWIST, limit.twist),
            )
        }
        for limit in limits
    }


def _read_limit(entry: Section, segment: int) -> JointLimit:
    swing = entry.numbers(SWING, 2)
    if swing.min() < MIN_ANGLE_DEG or swing.max() > MAX_ANGLE_DEG:
        expected = f'two half angles in {MIN_ANGLE_DEG:g} .. {MAX_ANGLE_DEG:g}'
        raise entry.error(SWING, expected, swing.tolist())
    twist = entry.numbers(TWIST, 2)
    least, most = 2.0 * MIN_ANGLE_DEG, 2.0 * MAX_ANGLE_DEG
    if not least <= twist[1] - twist[0] <= most:
        expected = f'the least and the greatest angle, {least:g} .. {most:g} apart'
        raise entry.error(TWIST, expected, twist.tolist())
    if np.abs(twist).max() > 360.0:
        raise entry.error(TWIST, 'angles in -360 .. 360', twist.tolist())
    centre = entry.numbers(CENTRE, 3, np.zeros(3))
    if np.abs(centre).max() > 360.0:
        raise entry.error(CENTRE, 'angles in -360 .. 360', centre.tolist())
    entry.finish()
    return JointLimit(segment, np.radians(swing), np.radians(twist), np.radians(centre))
