# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How our segments' axes lie in a file's joints: the file's rest pose against our T-pose.

For each segment one constant rotation q_joint_segment, so that the segment's orientation in
world is q_world_joint · q_joint_segment. It is carried from the parent segment (with zero
rotations all joints of a file have the same axes) and corrected as little as the bone needs to
lie as in our T-pose. Where the carried bone lies far off, the file's axes follow its bones
(LAFAN1 and others) and leave the twist open; then the hinge of knee or elbow, measured
over the clip, defines it.
"""

import numpy as np
from puppet_core.body import PARENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.clips.clip_file import ClipFile
from puppet_core.clips.name_map import SegmentJoints
from puppet_core.math import Floats, from_matrix, Quat, quaternion, Quats, to_matrix, Vec3, Vec3s
from puppet_core.math.quaternions import conjugate, multiply, rotate

# A body's axes this near to the joint's own are meant to be those: what is left is the subject's
# asymmetry and the lean of the spine.
_SNAP_RAD = np.radians(12.0)
_MAX_TRUNK_LEAN_RAD = np.radians(45.0)  # more is no standing rest pose
# Up to an A-pose the least rotation keeps the twist; beyond it the carried axes are doubted.
_MAX_LIMB_CORRECTION_RAD = np.radians(60.0)
_MIN_FLEXION = np.sin(np.radians(8.0))  # mean sine; below it the hinge is lost in noise
_OPPOSITE_RAD = np.radians(150.0)  # from here on the least rotation's axis is arbitrary
_MAX_FOOT_SLOPE_RAD = np.radians(50.0)  # ankle to toe base; a standing foot has 15 to 35 degrees
_LEVEL_FOOT_SLOPE_RAD = np.radians(25.0)
_MIN_BONE_M = 1e-4
_UP = np.array([0.0, 0.0, 1.0])
_LEFT = np.array([0.0, 1.0, 0.0])


def segment_axes(clip: ClipFile, joints: SegmentJoints, sole_normals: Vec3s) -> Quats:
    """
    Return q_joint_segment of each segment, shape (16, 4).

    `sole_normals` (2, 3) is the world's up in the axes of the left and right foot's joint while
    they stand, NaN where they never do; it counts for feet whose rest is pointed.

    """
    axes = np.zeros((len(SEGMENTS), 4))
    axes[0] = _trunk_axes(clip, joints, 'pelvis', 'thigh')
    for index in range(1, len(SEGMENTS)):
        segment = SEGMENTS[index]
        carried = axes[PARENTS[index]]
        if segment in ('spine', 'chest', 'head'):
            axes[index] = _upright(clip, joints, segment, carried)
        elif segment.endswith('_foot'):
            normal = sole_normals[int(segment.startswith('right'))]
            axes[index] = _foot_axes(toe_vector(clip, joints, segment), carried, normal)
        elif segment.endswith('_hand'):
            bone = finger_vector(clip, joints, segment)
            axes[index] = _corrected(carried, bone, canonical_direction(segment))
        else:
            axes[index] = _limb_axes(clip, joints, segment, carried)
    return axes


def canonical_direction(segment: str) -> Vec3:
    """Return where a limb segment points in our rest pose."""
    if segment.endswith(('_thigh', '_shank')):
        return -_UP
    return _LEFT if segment.startswith('left') else -_LEFT


def canonical_hinge(segment: str) -> Vec3:
    """Return the axis about which knee or elbow flexes in the limb's axes, right-handed."""
    if segment.endswith(('_thigh', '_shank')):
        return _LEFT  # the shank swings backward
    return -_UP if segment.startswith('left') else _UP  # the forearm swings forward


def bone_vector(clip: ClipFile, joints: SegmentJoints, segment: str, child: str) -> Vec3:
    """Return a child segment's origin in the axes of the segment's joint at rest [m]."""
    start = joints.origins[SEGMENT_INDEX[segment]]
    return clip.rest_offset(start, joints.origins[SEGMENT_INDEX[child]])


def toe_vector(clip: ClipFile, joints: SegmentJoints, segment: str) -> Vec3:
    """Return the toe base from the ankle in the foot joint's axes at rest, zero if unknown."""
    return _end_vector(clip, joints, segment, joints.extras.get(f'{segment[:-5]}_toe'))


def finger_vector(clip: ClipFile, joints: SegmentJoints, segment: str) -> Vec3:
    """Return the finger base from the wrist in the hand joint's axes at rest, zero if unknown."""
    return _end_vector(clip, joints, segment, joints.extras.get(f'{segment[:-5]}_fingers'))


def _end_vector(clip: ClipFile, joints: SegmentJoints, segment: str, named: int | None) -> Vec3:
    frame, origin = (part[SEGMENT_INDEX[segment]] for part in (joints.frames, joints.origins))
    if frame != origin:
        return np.zeros(3)  # the segment has no joint, only the end of its parent
    if named is not None and clip.path_down(frame, named) is not None:
        return clip.rest_offset(origin, named)
    children = clip.children(frame)
    if not children:
        return np.zeros(3)
    return np.mean([clip.offsets[k] for k in children], axis=0)


def _between(u: Vec3, v: Vec3) -> Quat:
    """Return the least rotation that turns u to v; lengths do not matter."""
    out = np.empty(4)
    quaternion.between(u / np.linalg.norm(u), v / np.linalg.norm(v), out)
    return out


def _angle(u: Vec3, v: Vec3) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(u, v)), np.dot(u, v)))


def _corrected(axes: Quat, bone: Vec3, direction: Vec3) -> Quat:
    """Return axes turned as little as makes the bone (joint axes) point along `direction`."""
    if np.linalg.norm(bone) < _MIN_BONE_M:
        return axes
    own = rotate(conjugate(axes), bone)
    return multiply(axes, conjugate(_between(own, direction)))


def _frame(primary: Vec3, secondary: Vec3) -> Floats:
    """Return a right-handed orthonormal matrix: columns primary, then secondary made square."""
    first = primary / np.linalg.norm(primary)
    second = secondary - first * np.dot(first, secondary)
    second = second / np.linalg.norm(second)
    return np.stack([first, second, np.cross(first, second)], axis=1)


def _trunk_axes(clip: ClipFile, joints: SegmentJoints, segment: str, limb: str) -> Quat:
    """Return axes of pelvis or chest from geometry: the limbs' line is Y, up to the head Z."""
    left, right = (
        bone_vector(clip, joints, segment, f'{side}_{limb}') for side in ('left', 'right')
    )
    middle = 0.5 * (left + right) if segment == 'pelvis' else np.zeros(3)
    up = bone_vector(clip, joints, segment, 'head') - middle
    if min(np.linalg.norm(left - right), np.linalg.norm(np.cross(left - right, up))) < 1e-6:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return _snapped(from_matrix(_frame(left - right, up)[:, [2, 0, 1]]))


def _snapped(axes: Quat) -> Quat:
    """Return the nearest rotation that maps coordinate axes on such, if it is near."""
    matrix = np.round(to_matrix(axes))
    is_rotation = np.allclose(matrix @ matrix.T, np.eye(3)) and np.linalg.det(matrix) > 0.5
    if not is_rotation:
        return axes
    snapped = from_matrix(matrix)
    return snapped if quaternion.angle_between(axes, snapped) < _SNAP_RAD else axes


def _upright(clip: ClipFile, joints: SegmentJoints, segment: str, carried: Quat) -> Quat:
    """Return axes of spine, chest or head: carried, unless they are no standing body's."""
    if segment == 'head':
        head = joints.frames[SEGMENT_INDEX['head']]
        tips = [clip.offsets[k] for k in clip.children(head) if clip.is_tip(k)]
        bone = tips[0] if tips else np.zeros(3)
    else:
        bone = bone_vector(clip, joints, segment, 'chest' if segment == 'spine' else 'head')
    if np.linalg.norm(bone) < _MIN_BONE_M:
        return carried
    lean = _angle(rotate(conjugate(carried), bone), _UP)
    if segment != 'chest':
        return carried if lean < _MAX_TRUNK_LEAN_RAD else _corrected(carried, bone, _UP)
    left, right = (
        bone_vector(clip, joints, 'chest', f'{side}_upper_arm') for side in ('left', 'right')
    )
    turn = _angle(rotate(conjugate(carried), left - right), _LEFT)
    if max(lean, turn) < _MAX_TRUNK_LEAN_RAD:
        return carried
    return _trunk_axes(clip, joints, 'chest', 'upper_arm')


def _limb_axes(clip: ClipFile, joints: SegmentJoints, segment: str, carried: Quat) -> Quat:
    index = SEGMENT_INDEX[segment]
    bone = bone_vector(clip, joints, segment, SEGMENTS[index + 1])
    direction, hinge = canonical_direction(segment), canonical_hinge(segment)
    if np.linalg.norm(bone) < _MIN_BONE_M:
        return carried
    turn = _angle(rotate(conjugate(carried), bone), direction)
    if turn < _MAX_LIMB_CORRECTION_RAD:
        return _corrected(carried, bone, direction)
    measured = _measured_hinge(clip, joints, segment)
    if measured is not None:
        return from_matrix(_frame(bone, measured) @ _frame(direction, hinge).T)
    if turn > _OPPOSITE_RAD:
        # Half a turn about the hinge keeps left and right where they are.
        carried = multiply(carried, np.array([0.0, *hinge]))
    return _corrected(carried, bone, direction)


def _measured_hinge(clip: ClipFile, joints: SegmentJoints, segment: str) -> Vec3 | None:
    """
    Return the flexion axis of knee or elbow in the axes of the segment's joint.

    It is the mean, over the clip, of upper × lower bone direction: normal to the plane of the
    limb, its sign that of the flexion, its length the sine, so that flexed frames count most.
    None if the limb hardly bends. Twist of the lower segment about its own bone does not matter.

    """
    is_upper = segment.endswith(('_thigh', '_upper_arm'))
    upper = SEGMENT_INDEX[segment] - (0 if is_upper else 1)
    upper_bone = bone_vector(clip, joints, SEGMENTS[upper], SEGMENTS[upper + 1])
    lower_bone = bone_vector(clip, joints, SEGMENTS[upper + 1], SEGMENTS[upper + 2])
    if min(np.linalg.norm(upper_bone), np.linalg.norm(lower_bone)) < _MIN_BONE_M:
        return None
    relative = clip.relative_rotation(joints.frames[upper], joints.frames[upper + 1])
    lower = rotate(relative, lower_bone / np.linalg.norm(lower_bone))
    normals = np.cross(upper_bone / np.linalg.norm(upper_bone), lower)
    if np.linalg.norm(normals.mean(axis=0)) < _MIN_FLEXION:
        return None
    if not is_upper:
        normals = rotate(conjugate(relative), normals)
    return normals.mean(axis=0)


def _foot_axes(bone: Vec3, carried: Quat, normal: Vec3) -> Quat:
    """
    Return the foot's axes: the shank's, turned about the vertical until the toes are in front.

    The slope from ankle to toe base stays, as a standing foot has one. A foot that is pointed at
    rest is levelled: by the sole's normal as measured while it stands, else to a usual slope.

    """
    if np.linalg.norm(bone) < _MIN_BONE_M:
        return carried
    own = rotate(conjugate(carried), bone)
    if abs(np.arctan2(own[2], np.hypot(own[0], own[1]))) > _MAX_FOOT_SLOPE_RAD:
        if np.isfinite(normal).all() and np.linalg.norm(np.cross(normal, bone)) > _MIN_BONE_M:
            return from_matrix(_frame(normal, bone)[:, [1, 2, 0]])
        slope = np.array([np.cos(_LEVEL_FOOT_SLOPE_RAD), 0.0, -np.sin(_LEVEL_FOOT_SLOPE_RAD)])
        return _corrected(carried, bone, slope)
    yaw = np.arctan2(own[1], own[0])
    return multiply(carried, np.array([np.cos(0.5 * yaw), 0.0, 0.0, np.sin(0.5 * yaw)]))
