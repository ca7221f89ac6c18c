# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
From a file's skeleton, axes and rest pose to a Motion of ours.

Segment orientations come from the file's joints by one constant rotation each
(`clips.rest_pose`). Offsets are the file's rest offsets in those axes; joints between two of ours
(clavicles, more vertebrae) are folded into them at rest. The end-effectors are taken from the
file's own joints, so what the folding costs does not show in them. The file's world is turned
to Z up: of a Y-up file, z (the front) becomes X and x (the left) becomes Y.
"""

import numpy as np
from puppet_core.body import (
    END_EFFECTORS,
    LIMB_SEGMENTS,
    Motion,
    PARENTS,
    SEGMENT_INDEX,
    SEGMENTS,
    Skeleton,
)
from puppet_core.clips.clip_file import ClipFile
from puppet_core.clips.detect import find_up_axis, leg_length
from puppet_core.clips.floor import fit_floor, FloorFit, standing_frames
from puppet_core.clips.name_map import match_joints, NameMap, SegmentJoints, T_POSE
from puppet_core.clips.options import AUTO, ClipOptions, DEFAULT_OPTIONS
from puppet_core.clips.rest_pose import (
    canonical_direction,
    finger_vector,
    segment_axes,
    toe_vector,
)
from puppet_core.io import ConfigError, InputFileError
from puppet_core.math import between_rows, Floats, Quat, quaternion, Quats, Vec3s
from puppet_core.math.quaternions import conjugate, multiply, rotate

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
_MIN_BONE_M = 1e-4
_SPINE, _CHEST = SEGMENT_INDEX['spine'], SEGMENT_INDEX['chest']
_LEFT_FOOT, _RIGHT_FOOT = SEGMENT_INDEX['left_foot'], SEGMENT_INDEX['right_foot']


# Artificial first frames of converted clips.
#
# The BVH conversions of the CMU database begin with a T-pose somewhere else, and their resampling
# rings for some frames after it. Both show as joint speeds that no body has.


def count_artificial_frames(p_world: Vec3s, rate_hz: float, body_height: float) -> int:
    """
    Return how many frames at the start are not motion, 0 if the first continues into the second.

    From joint positions (n, j, 3) [m] and any length of the body's size [m].

    """
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


def to_motion(
    clip: ClipFile, name_map: NameMap | None = None, options: ClipOptions = DEFAULT_OPTIONS
) -> Motion:
    """
    Return the clip as a motion of our skeleton; without a name map the built-in ones are tried.

    Raises
    ------
    InputFileError : if joints are missing, or a limb has no length.

    """
    joints = match_joints(clip, name_map)
    q_file, p_file = clip.world()
    if options.drop_artificial_start:
        count = count_artificial_frames(p_file, clip.rate_hz, leg_length(clip, joints))
        clip, q_file, p_file = clip.without_first(count), q_file[count:], p_file[count:]
    is_auto = options.up_axis == AUTO
    up_axis = find_up_axis(clip, joints, p_file).value if is_auto else options.up_axis
    q_world_file = Q_WORLD_FILE[up_axis]
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
    rotations = q_world.copy()
    rotations[:, 1:] = multiply(conjugate(q_world[:, PARENTS[1:]]), q_world[:, 1:])
    return Motion(
        skeleton,
        clip.rate_hz,
        p_world[:, 0],
        rotations,
        np.concatenate([tips, p_world[:, middles]], axis=1),
    )


def _find_floor(
    clip: ClipFile, joints: SegmentJoints, q_world_file: Quat, world: tuple[Quats, Vec3s]
) -> FloorFit | None:
    """Return the floor under the clip, None where the ends of the feet are sole centres."""
    toes = [toe_vector(clip, joints, SEGMENTS[foot]) for foot in (_LEFT_FOOT, _RIGHT_FOOT)]
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
    if floor is None:
        return q_world_file, 0.0
    height = floor.floor_height if options.shift_to_floor else 0.0
    if not options.level_floor:
        return q_world_file, height
    level = np.empty(4)
    quaternion.between(floor.normal, np.array([0.0, 0.0, 1.0]), level)
    # The turn is about the pivot; of what it moves the origin by, only the height matters.
    height += float(rotate(level, floor.pivot)[2] - floor.pivot[2])
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
        raise InputFileError(
            clip.path, 'a body with arms and legs', str(err), field='OFFSET'
        ) from err


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
    bone = (toe_vector if is_foot else finger_vector)(clip, joints, segment)
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
