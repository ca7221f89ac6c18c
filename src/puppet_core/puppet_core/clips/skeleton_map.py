# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
From a file's skeleton, axes and rest pose to a Motion of ours.

For each segment one constant rotation q_joint_segment says how our segment's axes lie in the
file's joint, so that the segment's orientation in world is q_world_joint · q_joint_segment. It
is carried from the parent segment (with zero rotations all joints of a file have the same axes)
and corrected as little as the bone needs to lie as in our T-pose. `infer_rest` first replaces a
zero pose that means nothing by the joints' means. Where it does, or the carried bone lies far off,
the file's axes follow its bones (LAFAN1 and others) and leave the twist open; then the hinge of
knee or elbow, measured over the clip, defines it.

Offsets are the file's rest offsets in those axes; joints between two of ours (clavicles, more
vertebrae) are folded into them at rest. The end-effectors are taken from the file's own joints,
so what the folding costs does not show in them. The file's world is turned to Z up: of a Y-up
file, z (the front) becomes X and x (the left) becomes Y.
"""

from dataclasses import replace

import numpy as np
from puppet_core.body import (
    END_EFFECTORS,
    LIMB_SEGMENTS,
    Motion,
    NO_PROPS,
    PARENTS,
    Props,
    SEGMENT_INDEX,
    SEGMENTS,
    Skeleton,
)
from puppet_core.clips.clip_file import ClipFile
from puppet_core.clips.detect import find_up_axis, leg_length
from puppet_core.clips.floor import fit_floor, FloorFit, standing_frames
from puppet_core.clips.name_map import bone_vector, match_joints, MOTION, SegmentJoints, T_POSE
from puppet_core.clips.options import AUTO, ClipOptions, DEFAULT_OPTIONS
from puppet_core.io import ConfigError, InputFileError
from puppet_core.math import (
    between_rows,
    Floats,
    from_matrix,
    Quat,
    Quats,
    to_matrix,
    two_axis_matrix,
    values,
    Vec3,
    Vec3s,
)
from puppet_core.math.quaternions import conjugate, multiply, rotate

_MAX_STRETCH, _MAX_STEP = 1.0, 20.0  # of a bone in a frame [legs]; of the root, so many times that
_IMPOSSIBLE_SPEED = 12.0  # mean over all joints, body heights per second; a sprinter has 6
_MIN_RATIO = 5.0  # of the first step to the steps after the start
_RINGING_S = 0.1  # the start lasts no longer
_SETTLED_RATIO = 2.0  # steps up to this much above the later ones are motion
_REFERENCE_S = 0.3  # of motion after the start to compare with

# Our world's axes from the file's: z -> x, x -> y, y -> z is a third of a turn about (1, 1, 1).
Q_WORLD_Y_UP = np.array([0.5, 0.5, 0.5, 0.5])
Q_WORLD_Z_UP = np.array([1.0, 0.0, 0.0, 0.0])
# Where an axis points down, the one that becomes our x stays: half a turn about it comes after.
Q_WORLD_FILE = {
    'x': np.array([0.5, -0.5, -0.5, -0.5]),  # y -> x, z -> y, x -> z
    'y': Q_WORLD_Y_UP,
    'z': Q_WORLD_Z_UP,
    '-x': np.array([0.5, 0.5, 0.5, -0.5]),  # y -> x, z -> -y, x -> -z
    '-y': np.array([-0.5, 0.5, -0.5, 0.5]),  # z -> x, x -> -y, y -> -z
    '-z': np.array([0.0, 1.0, 0.0, 0.0]),  # x -> x, y -> -y, z -> -z
}
# Where a file has no hand or foot: usual places relative to the segment above.
_PALM_PER_FOREARM = 0.3
_SOLE_FORWARD_PER_SHANK = 0.15
_SPINE, _CHEST = SEGMENT_INDEX['spine'], SEGMENT_INDEX['chest']
_LIMBS = [*LIMB_SEGMENTS[:, :2].flat, *LIMB_SEGMENTS[2:, 2]]  # whose rest is not their mean
_ON_TRUNK = [i for i, parent in enumerate(PARENTS) if i and parent < 3]
_LEFT_FOOT, _RIGHT_FOOT = SEGMENT_INDEX['left_foot'], SEGMENT_INDEX['right_foot']
_MIN_BONE_M = 1e-4
# A body's axes this near to the joint's own are meant to be those: what is left is the subject's
# asymmetry and the lean of the spine.
_SNAP_RAD = np.radians(12.0)
_MAX_MEAN_RAD = np.radians(65.0)  # of captured necks 47 degrees is the most
# Up to an A-pose the least rotation keeps the twist; beyond it the carried axes are doubted.
_MAX_LIMB_CORRECTION_RAD = np.radians(60.0)
_MIN_FLEXION = np.sin(np.radians(8.0))  # mean sine; below it the hinge is lost in noise
_MAX_FOOT_SLOPE_RAD = np.radians(50.0)  # ankle to toe base; a standing foot has 15 to 35 degrees
_LEVEL_FOOT_SLOPE_RAD = np.radians(25.0)
_UP = np.array([0.0, 0.0, 1.0])
_LEFT, _ZERO = np.array([0.0, 1.0, 0.0]), np.zeros(3)


# The file's rest pose.


def infer_rest(clip: ClipFile, joints: SegmentJoints) -> tuple[ClipFile, SegmentJoints]:
    """
    Return a clip with a rest pose that means something; it notes which joints' own does not.

    Trunk, clavicles and neck move about their rest: where a joint's mean is further from its zero
    rotation than a body's joint is, zero means nothing; then such means are the rest, hands'
    too, or what maps axes on axes near them. Thighs, arms and feet are left to `segment_axes`.
    """
    rests = np.tile([1.0, 0.0, 0.0, 0.0], (len(clip.parents), 1))
    is_far = np.zeros(len(rests), dtype=bool)
    paths = [clip.path_down(joints.frames[0], joint) or () for joint in joints.origins]
    limbs = [joints.frames[i] for i in _LIMBS]
    for joint in {joint for path in paths for joint in path if joint not in limbs}:
        mean = _mean_rotation(clip.rotations[:, joint])
        if 2.0 * np.arccos(min(abs(mean[0]), 1.0)) > _MAX_MEAN_RAD:
            rests[joint], is_far[joint] = _snapped(mean), True
    of_trunk = [joint for i in _ON_TRUNK for joint in paths[i]]
    if joints.map.rest == T_POSE or not (is_far[of_trunk].any() or joints.map.rest == MOTION):
        return clip, joints
    names = ', '.join(clip.joint_names[k] for k in np.flatnonzero(is_far)[:5])
    note = f'rest pose from the motion, zero of {names} means nothing'
    clip = replace(clip.with_rest(rests), notes=(*clip.notes, note))
    return clip, replace(joints, map=replace(joints.map, rest=MOTION))


def _mean_rotation(quats: Quats) -> Quat:
    """Return the mean of the half of rotations (n, 4) that are nearest to the mean of all."""
    for _ in range(2):
        mean = np.linalg.eigh(quats.T @ quats)[1][:, -1]
        near = np.abs(quats @ mean)
        quats = quats[near >= np.median(near)]
    return mean


# The axes of our segments in a file's joints.


def segment_axes(clip: ClipFile, joints: SegmentJoints, sole_normals: Vec3s) -> Quats:
    """
    Return q_joint_segment of each segment, shape (16, 4).

    `sole_normals` (2, 3) is the world's up in the axes of the left and right foot's joint while
    they stand, NaN where they never do; it counts for feet whose rest is pointed.
    """
    axes = np.zeros((len(SEGMENTS), 4))
    axes[0] = _pelvis_axes(clip, joints)
    for index in range(1, len(SEGMENTS)):
        segment = SEGMENTS[index]
        carried = axes[PARENTS[index]]
        axes[index] = carried  # those of spine, chest and head
        if segment.endswith('_foot'):
            normal = sole_normals[int(segment.startswith('right'))]
            bone, is_doubted = end_vector(clip, joints, segment), joints.map.rest == MOTION
            axes[index] = _foot_axes(bone, carried, normal, is_doubted)
        elif segment.endswith('_hand'):
            bone = end_vector(clip, joints, segment)
            axes[index] = _corrected(carried, bone, canonical_direction(segment))
        elif '_' in segment:
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


def end_vector(clip: ClipFile, joints: SegmentJoints, segment: str) -> Vec3:
    """Return toe or finger base in the axes of foot or hand's joint at rest, zero if unknown."""
    frame, origin = (part[SEGMENT_INDEX[segment]] for part in (joints.frames, joints.origins))
    children = clip.children(frame)
    if frame != origin or not children:
        return np.zeros(3)  # the segment has no joint, only the end of its parent, or no end
    named = joints.extras.get(segment.replace('foot', 'toe').replace('hand', 'fingers'))
    if named is not None and clip.path_down(frame, named) is not None:
        return clip.rest_offset(origin, named)
    return np.mean([clip.offsets[k] for k in children], axis=0)


def _angle(u: Vec3, v: Vec3) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(u, v)), np.dot(u, v)))


def _corrected(axes: Quat, bone: Vec3, direction: Vec3) -> Quat:
    """Return axes turned as little as makes the bone (joint axes) point along `direction`."""
    if np.linalg.norm(bone) < _MIN_BONE_M:
        return axes
    own = rotate(conjugate(axes), bone)
    turn = values.between(own / np.linalg.norm(own), direction / np.linalg.norm(direction))
    return multiply(axes, conjugate(np.array(turn)))


def _pelvis_axes(clip: ClipFile, joints: SegmentJoints) -> Quat:
    """Return axes from geometry: the hips' line is Y, up to the head Z."""
    left, right = (bone_vector(clip, joints, 'pelvis', f'{s}_thigh') for s in ('left', 'right'))
    up = bone_vector(clip, joints, 'pelvis', 'head') - 0.5 * (left + right)
    if min(np.linalg.norm(left - right), np.linalg.norm(np.cross(left - right, up))) < 1e-6:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return _snapped(from_matrix(two_axis_matrix(left - right, up)[:, [2, 0, 1]]))


def _snapped(axes: Quat) -> Quat:
    """Return the nearest rotation that maps coordinate axes on such, if it is near."""
    matrix = np.round(to_matrix(axes))
    is_rotation = np.allclose(matrix @ matrix.T, np.eye(3)) and np.linalg.det(matrix) > 0.5
    if not is_rotation:
        return axes
    snapped = from_matrix(matrix)
    return snapped if values.angle_between(axes, snapped) < _SNAP_RAD else axes


def _limb_axes(clip: ClipFile, joints: SegmentJoints, segment: str, carried: Quat) -> Quat:
    index = SEGMENT_INDEX[segment]
    bone = bone_vector(clip, joints, segment, SEGMENTS[index + 1])
    direction, hinge = canonical_direction(segment), canonical_hinge(segment)
    if np.linalg.norm(bone) < _MIN_BONE_M:
        return carried
    turn = _angle(rotate(conjugate(carried), bone), direction)
    if turn < _MAX_LIMB_CORRECTION_RAD and joints.map.rest != MOTION:
        return _corrected(carried, bone, direction)
    measured = _measured_hinge(clip, joints, segment)
    if measured is not None:
        return from_matrix(two_axis_matrix(bone, measured) @ two_axis_matrix(direction, hinge).T)
    return _corrected(carried, bone, direction)


def _measured_hinge(clip: ClipFile, joints: SegmentJoints, segment: str) -> Vec3 | None:
    """
    Return the flexion axis of knee or elbow in the axes of the segment's joint.

    It is the mean, over the clip, of upper × lower bone direction: normal to the plane of the
    limb, its sign that of the flexion, its length the sine, so that flexed frames count most.
    Knees that hardly bend, or backward, bend as their toes point: forward. None if an elbow hardly
    bends. Twist of the lower segment about its own bone does not matter.
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
    toe = end_vector(clip, joints, SEGMENTS[upper + 2]) if upper in LIMB_SEGMENTS[2:] else _ZERO
    if toe.any():
        to_foot = clip.relative_rotation(joints.frames[upper + 1], joints.frames[upper + 2])
        lefts = np.cross(rotate(multiply(relative, to_foot), toe / np.linalg.norm(toe)), lower)
        if np.sum(normals.mean(axis=0) * lefts.mean(axis=0)) < _MIN_FLEXION:
            normals = lefts
    if np.linalg.norm(normals.mean(axis=0)) < _MIN_FLEXION:
        return None
    if not is_upper:
        normals = rotate(conjugate(relative), normals)
    return normals.mean(axis=0)


def _foot_axes(bone: Vec3, carried: Quat, normal: Vec3, is_doubted: bool) -> Quat:
    """
    Return the foot's axes: the shank's, turned about the vertical until the toes are in front.

    The slope from ankle to toe base stays, as a standing foot has one. A foot that is pointed at
    rest, or whose rest is doubted, is levelled: by the sole's normal as measured while it stands,
    else to a usual slope.
    """
    if np.linalg.norm(bone) < _MIN_BONE_M:
        return carried
    own = rotate(conjugate(carried), bone)
    is_pointed = abs(np.arctan2(own[2], np.hypot(own[0], own[1]))) > _MAX_FOOT_SLOPE_RAD
    if is_pointed or is_doubted:
        if np.isfinite(normal).all() and np.linalg.norm(np.cross(normal, bone)) > _MIN_BONE_M:
            return from_matrix(two_axis_matrix(normal, bone)[:, [1, 2, 0]])
        slope = np.array([np.cos(_LEVEL_FOOT_SLOPE_RAD), 0.0, -np.sin(_LEVEL_FOOT_SLOPE_RAD)])
        return _corrected(carried, bone, slope)
    yaw = np.arctan2(own[1], own[0])
    return multiply(carried, np.array([np.cos(0.5 * yaw), 0.0, 0.0, np.sin(0.5 * yaw)]))


# Artificial first frames of converted clips.
#
# The BVH conversions of the CMU database begin with a T-pose somewhere else, and their resampling
# rings for some frames after it. Both show as joint speeds that no body has.


def count_artificial_frames(p_world: Vec3s, rate_hz: float, body_height: float) -> int:
    """Return how many frames of joints (n, j, 3) [m] at the start are not motion, mostly 0."""
    n_start = max(1, round(_RINGING_S * rate_hz))
    n_seen = n_start + max(3, round(_REFERENCE_S * rate_hz))
    steps = np.linalg.norm(np.diff(p_world[: n_seen + 1], axis=0), axis=2).mean(axis=1)
    later = steps[n_start:]
    if len(later) < 3:
        later = steps[1:]
        if len(later) < 2:
            return 0
    usual = float(np.median(later))
    is_jump = steps[0] * rate_hz > _IMPOSSIBLE_SPEED * body_height
    if not is_jump or steps[0] < _MIN_RATIO * usual:
        return 0
    restless = np.flatnonzero(steps[:n_start] > _SETTLED_RATIO * usual)
    return int(restless[-1]) + 1


def _check_positions(clip: ClipFile, joints: SegmentJoints, first: int) -> None:
    """Raise InputFileError where, from frame `first` on, a root leaps or a bone is stretched."""
    steps = np.abs(np.diff(clip.translations[first:], axis=0)).max(axis=2)
    limits = np.full(steps.shape[1], _MAX_STRETCH * leg_length(clip, joints))
    roots = [k for k in range(len(limits)) if clip.path_down(k, joints.frames[0]) is not None]
    limits[roots] *= _MAX_STEP
    for frame, joint in np.argwhere(~(steps <= limits))[:1]:
        wanted = f'at most {limits[joint]:.3g} m from frame to frame'
        at = frame + first + 1
        got = f'{steps[frame, joint]:.4g} m from frame {at} to {at + 1}'
        place = f'{clip.joint_names[joint]} position'
        raise InputFileError(clip.path, wanted, got, field=place)


def to_motion(
    clip: ClipFile, joints: SegmentJoints | None = None, options: ClipOptions = DEFAULT_OPTIONS
) -> Motion:
    """
    Return the clip as a motion of our skeleton; without `joints` they are looked for.

    Raise InputFileError if joints are missing, a limb has no length, or a position leaps; that
    names joint and frame, counted from 1.
    """
    joints = joints or match_joints(clip)
    q_file, p_file = clip.world()
    count = 0
    if options.correct:
        count = count_artificial_frames(p_file, clip.rate_hz, leg_length(clip, joints))
    _check_positions(clip, joints, count)
    clip, q_file, p_file = clip.without_first(count), q_file[count:], p_file[count:]
    is_auto = options.up_axis == AUTO
    up_axis = find_up_axis(clip, joints, p_file).value if is_auto else options.up_axis
    q_world_file = q_axes = Q_WORLD_FILE[up_axis]
    floor = _find_floor(clip, joints, q_world_file, (q_file, p_file))
    q_world_file, height = _place(floor, q_world_file, options)
    q_joints = multiply(q_world_file, q_file[:, list(joints.frames)])
    p_world = rotate(q_world_file, p_file[:, list(joints.origins)])
    p_world[..., 2] -= height
    axes = _axes(clip, joints, q_world_file, (q_joints, p_world))
    q_world = multiply(q_joints, axes)
    skeleton = _skeleton(clip, joints, axes, floor)
    q_world[:, _SPINE] = _aimed_spine(skeleton, q_world[:, _SPINE], p_world)
    ends, middles = LIMB_SEGMENTS[:, 2], LIMB_SEGMENTS[:, 1]
    tips = p_world[:, ends] + rotate(q_world[:, ends], skeleton.interaction_points)
    points = np.concatenate([tips, p_world[:, middles]], axis=1)
    rotations = q_world.copy()
    rotations[:, 1:] = multiply(conjugate(q_world[:, PARENTS[1:]]), q_world[:, 1:])
    props = NO_PROPS
    if options.joints_as_props:
        turns = multiply(multiply(q_world_file, q_file), conjugate(q_axes))
        props = Props(clip.joint_names, rotate(q_world_file, p_file) - height * _UP, turns)
    return Motion(skeleton, clip.rate_hz, p_world[:, 0], rotations, points, props)


def _find_floor(
    clip: ClipFile, joints: SegmentJoints, q_world_file: Quat, world: tuple[Quats, Vec3s]
) -> FloorFit | None:
    """Return the floor under the clip, None where the ends of the feet are sole centres."""
    toes = [end_vector(clip, joints, SEGMENTS[foot]) for foot in (_LEFT_FOOT, _RIGHT_FOOT)]
    has_ends = min(float(np.linalg.norm(toe)) for toe in toes) > _MIN_BONE_M
    if joints.map.ends_are_interaction_points and has_ends:
        return None
    q_file, p_file = world
    middles = []
    for foot, toe in zip((_LEFT_FOOT, _RIGHT_FOOT), toes):
        own = rotate(q_file[:, joints.frames[foot]], 0.5 * toe)
        middles.append(p_file[:, joints.origins[foot]] + own)
    feet = rotate(q_world_file, np.stack(middles, axis=1))
    return fit_floor(feet, clip.rate_hz, leg_length(clip, joints))


def _place(floor: FloorFit | None, q_world_file: Quat, options: ClipOptions) -> tuple[Quat, float]:
    """Return the rotation from the file's world to ours, and the floor's height after it [m]."""
    if floor is None or not options.correct:
        return q_world_file, 0.0
    level = np.array(values.between(floor.normal, _UP))
    # The turn is about the pivot; of what it moves the origin by, only the height matters.
    height = floor.floor_height + float(rotate(level, floor.pivot)[2] - floor.pivot[2])
    return multiply(level, q_world_file), height


def _axes(
    clip: ClipFile, joints: SegmentJoints, q_world_file: Quat, world: tuple[Quats, Vec3s]
) -> Quats:
    """Return q_joint_segment of each segment; `world` has the joints of the segments."""
    if joints.map.rest == T_POSE:
        return np.tile(conjugate(q_world_file), (len(SEGMENTS), 1))
    q_joints, p_joints = world
    normals = np.full((2, 3), np.nan)
    for row, foot in enumerate((_LEFT_FOOT, _RIGHT_FOOT)):
        ankle = p_joints[:, foot]
        stands = standing_frames(ankle, clip.rate_hz)
        if stands.any():
            low = stands & (ankle[:, 2] <= np.median(ankle[stands, 2]))
            q_foot = q_joints[low, foot]
            normals[row] = rotate(conjugate(q_foot), np.array([0.0, 0.0, 1.0])).mean(axis=0)
    return segment_axes(clip, joints, normals)


def _skeleton(
    clip: ClipFile, joints: SegmentJoints, axes: Quats, floor: FloorFit | None
) -> Skeleton:
    offsets = np.zeros((len(SEGMENTS), 3))
    for index in range(1, len(SEGMENTS)):
        parent = int(PARENTS[index])
        offset = clip.rest_offset(joints.origins[parent], joints.origins[index])
        offsets[index] = rotate(conjugate(axes[parent]), offset)
    points = [_interaction_point(clip, joints, axes, offsets, end, floor) for end in END_EFFECTORS]
    try:
        return Skeleton(offsets, np.array(points))
    except ConfigError as err:
        wanted = 'a body with arms and legs'
        raise InputFileError(clip.path, wanted, str(err), field='OFFSET') from err


def _aimed_spine(skeleton: Skeleton, q_spine: Quats, p_world: Vec3s) -> Quats:
    """
    Return the spine turned as little as makes it point at the file's chest joint.

    Vertebrae folded into the spine bend too; this keeps chest and shoulders in their places but
    for the chord's shortening. Nothing changes where the chest's joint is the spine's child.
    """
    offset = skeleton.offsets[_CHEST]
    chords = p_world[:, _CHEST] - p_world[:, _SPINE]
    lengths = np.linalg.norm(chords, axis=1)
    if np.linalg.norm(offset) < _MIN_BONE_M or lengths.min() < _MIN_BONE_M:
        return q_spine
    now = rotate(q_spine, offset / np.linalg.norm(offset))
    turns = np.empty(q_spine.shape)
    between_rows(now, chords / lengths[:, None], turns)
    return multiply(turns, q_spine)


def _interaction_point(
    clip: ClipFile,
    joints: SegmentJoints,
    axes: Quats,
    offsets: Vec3s,
    segment: str,
    floor: FloorFit | None,
) -> Floats:
    """Return palm or sole centre in the segment's axes [m]."""
    index = SEGMENT_INDEX[segment]
    is_foot = segment.endswith('_foot')
    bone = end_vector(clip, joints, segment)
    point = 0.5 * rotate(conjugate(axes[index]), bone)
    length_above = float(np.linalg.norm(offsets[index]))
    if floor is None:
        return 2.0 * point
    if is_foot:
        if np.linalg.norm(bone) < _MIN_BONE_M:
            point = np.array([_SOLE_FORWARD_PER_SHANK * length_above, 0.0, 0.0])
        return point - np.array([0.0, 0.0, floor.drops[int(segment.startswith('right'))]])
    if np.linalg.norm(bone) < _MIN_BONE_M:
        return _PALM_PER_FOREARM * length_above * canonical_direction(segment)
    return point
