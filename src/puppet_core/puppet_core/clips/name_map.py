# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which joint of a clip file carries which segment: built-in namings, YAML maps, and the search.

Names are compared without case, separators, a namespace ('mixamorig:Hips', 'Bip01 L Thigh') and a
prefix that all joints of the file share ('Actor1_Hips'). Joints that no map names are passed over.
Hands, feet and the head may be missing if the chain has an end there; the spine may be missing
altogether. Where no names are known `match_joints` goes by the structure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
import os.path
from pathlib import Path
import re

import numpy as np
from puppet_core.body import PARENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.clips.clip_file import ClipFile
from puppet_core.io import brief, ConfigError, InputFileError, load_yaml
from puppet_core.math import Floats, Vec3

# Joints that give the length of a foot and a hand; without them the chain's own end is taken.
EXTRA_ROLES = ('left_toe', 'right_toe', 'left_fingers', 'right_fingers')
ROLES = SEGMENTS + EXTRA_ROLES
# Candidates of the roles below in each convention, comma between roles, blank between candidates;
# {S}, {s} is the side, Left or l.
_COLUMNS = (
    'pelvis spine chest head {side}_upper_arm {side}_forearm {side}_hand {side}_thigh '
    '{side}_shank {side}_foot {side}_toe {side}_fingers'
)
# Spines are numbered from the pelvis up; the chest is the last one, where arms and neck start.
_SPINES = 'Spine9 Spine8 Spine7 Spine6 Spine5 Spine4 Spine3 Spine2 Spine1'
_SPINES_0 = 'spine_09 spine_08 spine_07 spine_06 spine_05 spine_04 spine_03 spine_02 spine_01'
_MB_ARM = '{S}Arm, {S}ForeArm, {S}Hand'
_MB_LEG = '{S}UpLeg, {S}Leg, {S}Foot'
_MB_ENDS = '{S}ToeBase {S}Toe, {S}HandMiddle1 {S}FingerBase {S}InHandMiddle {S}HandIndex1'
_TEMPLATES = {
    # The CMU database's own ASF files, and HDM05, made with the same tools. The bone 'wrist' is
    # the lower half of the forearm, which only twists.
    'cmu_asf': 'root, lowerback, thorax, head, {s}humerus, {s}radius, {s}hand, {s}femur, '
    '{s}tibia, {s}foot, {s}toes, {s}fingers',
    # BVH conversions of the CMU database for Poser and DAZ figures.
    'cmu_bvh': 'hip, abdomen, chest, head, {s}Shldr, {s}ForeArm, {s}Hand, {s}Thigh, {s}Shin, '
    '{s}Foot,, {s}Mid1',
    # MotionBuilder's human, and BVH conversions of the CMU database for it.
    'motionbuilder': f'Hips, LowerBack Spine, {_SPINES} UpperChest Chest Spine, Head, {_MB_ARM}, '
    f'{_MB_LEG}, {_MB_ENDS}',
    # The same names behind the namespace 'mixamorig:'.
    'mixamo': f'Hips, Spine, Spine2 Spine1, Head, {_MB_ARM}, {_MB_LEG}, {{S}}ToeBase, '
    '{S}HandMiddle1 {S}HandIndex1',
    # Ubisoft La Forge's LAFAN1.
    'lafan1': f'Hips, Spine, Spine2, Head, {_MB_ARM}, {_MB_LEG}, {{S}}Toe,',
    # The first BVH files, and Xsens MVN's.
    'biovision': 'Hips Hip, Chest, Chest4 Chest3 Chest2 Chest, Head, {S}Shoulder {S}UpArm, '
    '{S}Elbow {S}LowArm, {S}Wrist {S}Hand, {S}Hip {S}UpLeg, {S}Knee {S}LowLeg, {S}Ankle {S}Foot, '
    '{S}Toe,',
    # 3ds Max' Biped (behind 'Bip01 '), Truebones' humans and many games.
    'biped': f'Pelvis, Spine, {_SPINES} Spine, Head, {{s}}UpperArm, {{s}}Forearm, {{s}}Hand, '
    '{s}Thigh, {s}Calf, {s}Foot, {s}Toe0, {s}Finger2 {s}Finger1',
    # Rokoko Studio.
    'rokoko': f'Hips, Spine Spine1, {_SPINES} UpperChest Chest Spine, Head, {_MB_ARM}, '
    f'{{S}}Thigh, {{S}}Shin, {{S}}Foot, {_MB_ENDS}',
    # Xsens MVN's segments, Unity's and VRM's humanoid.
    'humanoid': f'Hips Pelvis, Spine L5, UpperChest T8 Chest {_SPINES} Spine, Head, '
    '{S}UpperArm UpperArm{s}, {S}LowerArm {S}ForeArm LowerArm{s}, {S}Hand Hand{s}, '
    '{S}UpperLeg UpperLeg{s}, {S}LowerLeg LowerLeg{s}, {S}Foot Foot{s}, {S}Toes {S}Toe Toes{s}, '
    '{S}MiddleProximal {S}IndexProximal',
    # DAZ Genesis 3 and 8, whose limbs have a bending and a twisting half; Genesis 9.
    'daz': 'hip, abdomenLower spine1, chestUpper chestLower spine4 spine3, head, '
    '{s}ShldrBend {s}UpperArm, {s}ForearmBend {s}Forearm, {s}Hand, {s}ThighBend {s}Thigh, '
    '{s}Shin, {s}Foot, {s}Toe {s}Toes, {s}Mid1 {s}Index1',
    # Poser's written-out names.
    'poser': 'Hip, Abdomen, Chest, Head, {S}Shoulder, {S}Forearm, {S}Hand, {S}Thigh, {S}Shin, '
    '{S}Foot, {S}Toe,',
    # Unreal Engine's mannequin.
    'unreal': f'pelvis, spine_01, {_SPINES_0}, head, upperarm_{{s}}, lowerarm_{{s}}, hand_{{s}}, '
    'thigh_{s}, calf_{s}, foot_{s}, ball_{s}, middle_01_{s} index_01_{s}',
    # The SMPL family of body models.
    'smpl': 'Pelvis, Spine1, Spine3 Spine2, Head, {s}_Shoulder {S}_Shoulder, {s}_Elbow {S}_Elbow, '
    '{s}_Wrist {S}_Wrist, {s}_Hip {S}_Hip, {s}_Knee {S}_Knee, {s}_Ankle {S}_Ankle, '
    '{s}_Foot {S}_Foot, {s}_Hand {S}_Hand',
    # Blender's Rigify.
    'rigify': 'hips spine, spine.001, chest spine.003 spine.002, head spine.006 spine.005, '
    'upper_arm.{s}, forearm.{s}, hand.{s}, thigh.{s}, shin.{s}, foot.{s}, toe.{s}, '
    'f_middle.01.{s} f_index.01.{s}',
    # MocapNET, and what it makes of the CMU database.
    'mocapnet': 'hip, LowerBack abdomen, chest, head, {s}shoulder, {s}elbow, {s}hand, {s}hip, '
    '{s}knee, {s}foot, {S}ToeBase toe1-1.{s}, {S}FingerBase finger3-1.{s}',
    # OptiTrack Motive.
    'optitrack': 'Hip, Ab, Chest, Head, {s}UArm, {s}FArm, {s}Hand, {s}Thigh, {s}Shin, {s}Foot, '
    '{s}Toe, {s}Middle1 {s}Index1',
}

BY_STRUCTURE = 'no known program'
PUPPET = 'puppet'  # our own names, as `write_bvh` writes them

FORMAT = 'puppet-name-map/1'
DERIVE = 'derive'
MOTION = 'motion'
T_POSE = 't_pose'
REST_POSES = (DERIVE, MOTION, T_POSE)

# Segments that end a chain: without a joint of their own they sit at their parent's end.
_END_SEGMENTS = frozenset(('head', 'left_hand', 'right_hand', 'left_foot', 'right_foot'))
_NAMESPACE = re.compile(r'^(.*:|mixamorig\d*_?|(bn_)?bip\d+[ _.-]+)', re.IGNORECASE)
_SEPARATORS = str.maketrans('', '', ' _.-')


def _expand(template: str) -> dict[str, tuple[str, ...]]:
    """Return the candidates of each role, both sides written out."""
    table = {}
    for side in ('left', 'right'):
        words = {'side': side, 'S': side.capitalize(), 's': side[0]}
        columns = template.format(**words).split(',')
        for role, names in zip(_COLUMNS.format(**words).split(), columns):
            table[role] = tuple(names.split())
    return table


BUILT_IN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    PUPPET: {segment: (segment,) for segment in SEGMENTS},
    **{name: _expand(template) for name, template in _TEMPLATES.items()},
}
KNOWN_MAPS = tuple(BUILT_IN)


@dataclass(frozen=True, slots=True)
class NameMap:
    """Candidates of joint names for each role, and what the file's zero pose is."""

    name: str  # For messages
    joints: Mapping[str, Sequence[str]]  # Candidates by role, the first that the file has is taken
    # T_POSE if zero rotations are our rest pose exactly, MOTION if they mean nothing, DERIVE to
    # work it out
    rest: str = DERIVE
    # Whether the ends of hands and feet are palm and sole centres
    ends_are_interaction_points: bool = False


@dataclass(frozen=True, slots=True)
class SegmentJoints:
    # The map that fitted
    map: NameMap  # noqa: A003
    frames: tuple[int, ...]  # Joint whose rotation the segment has, length 16
    # Joint at the segment's origin, length 16; differs where the segment has none of its own
    origins: tuple[int, ...]
    extras: Mapping[str, int]  # Joints of the extra roles that the file has


def built_in_map(name: str) -> NameMap:
    if name not in BUILT_IN:
        known = ', '.join(KNOWN_MAPS)
        raise ConfigError(f'name_map: expected one of {known} or a YAML file, got {name!r}')
    is_own = name == PUPPET
    return NameMap(name, BUILT_IN[name], T_POSE if is_own else DERIVE, is_own)


def load_name_map(path: str | Path) -> NameMap:
    """
    Read a map from YAML.

    The file has `format: puppet-name-map/1`, optionally `name`, `rest` (derive, motion or t_pose),
    and `joints`: for each role a joint name or a list of candidates.

    Raise InputFileError naming file, line and key.
    """
    source = load_yaml(path, FORMAT)
    section = source.section('joints')
    joints: dict[str, tuple[str, ...]] = {}
    for role in section.keys():
        value = section.raw(role)
        names = value if isinstance(value, list) else [value]
        if role not in ROLES:
            raise section.error(role, 'one of ' + ', '.join(ROLES), brief(role))
        if not names or not all(isinstance(name, str) and name for name in names):
            raise section.error(role, 'a joint name or a list of them', brief(value))
        joints[role] = tuple(names)
    name = source.text('name', Path(path).stem)
    rest = source.text('rest', DERIVE, choices=REST_POSES)
    source.finish()
    return NameMap(name, joints, rest)


def match_joints(clip: ClipFile, name_map: NameMap | None = None) -> SegmentJoints:
    """
    Return the joints of our segments by a map; without one by the built-in one that finds most.

    If none of those finds all, they are looked for in the tree.

    Raise InputFileError naming the segments without a joint, the file's joints and the known maps.
    """
    maps = [built_in_map(name) for name in KNOWN_MAPS] if name_map is None else [name_map]
    plain_names = _plain_names(clip)
    trials = [(_find(plain_names, candidate), candidate) for candidate in maps]
    complete = [trial for trial in trials if not _missing(clip, trial[0])]
    if complete:
        return _segment_joints(clip, *max(complete, key=lambda trial: len(trial[0])))
    tree = joints_by_structure(clip) if name_map is None else ''
    if isinstance(tree, dict) and (missing := _missing(clip, tree)):
        tree = f'none for {", ".join(missing)}'
    if isinstance(tree, dict):
        found = {role: (clip.joint_names[joint],) for role, joint in tree.items()}
        return _segment_joints(clip, tree, NameMap(BY_STRUCTURE, found))
    joints, nearest = min(trials, key=lambda trial: len(_missing(clip, trial[0])))
    names = ', '.join(n for i, n in enumerate(clip.joint_names) if not clip.is_tip(i))
    known = ', '.join(KNOWN_MAPS)
    wanted = f'joints of the map {nearest.name}' if name_map else 'joints of a known skeleton'
    by_map = '' if name_map else f' by the nearest map, {nearest.name}; by the tree: {tree}'
    got = f'none for {", ".join(_missing(clip, joints))}{by_map}'
    hint = f'joints here: {names}; known maps: {known}; or give a {FORMAT} file'
    raise InputFileError(clip.path, wanted, got, field='joint names', hint=hint)


def _plain(name: str) -> str:
    return _NAMESPACE.sub('', name).lower()


def _plain_names(clip: ClipFile) -> dict[str, int]:
    """Return joints (no tips) by name without case and namespace, with and without prefix."""
    names = {i: _plain(name) for i, name in enumerate(clip.joint_names) if not clip.is_tip(i)}
    # The root is often a helper without the prefix.
    below = list(names.values())[1:]
    shared = os.path.commonprefix(below) if len(below) > 1 else ''
    cut = max(shared.rfind('_'), shared.rfind(' '), shared.rfind('.')) + 1
    plain: dict[str, int] = {}
    for start in (0, cut):
        for i, name in names.items():
            if name.startswith(shared[:start]):
                plain.setdefault(name[start:].translate(_SEPARATORS), i)
    return plain


def _find(plain_names: Mapping[str, int], name_map: NameMap) -> dict[str, int]:
    """Return the joint of each role that has one; no joint serves two segments."""
    joints: dict[str, int] = {}
    # The chest before the spine: a single spine joint is the chest.
    for role in sorted(name_map.joints, key=lambda role: role == 'spine'):
        for candidate in name_map.joints[role]:
            joint = plain_names.get(_plain(candidate).translate(_SEPARATORS))
            if joint is not None and joint not in joints.values():
                joints[role] = joint
                break
    return joints


def _tip(clip: ClipFile, joint: int) -> int | None:
    return next((k for k in clip.children(joint) if clip.is_tip(k)), None)


def _missing(clip: ClipFile, joints: Mapping[str, int]) -> list[str]:
    missing = []
    for segment, parent in zip(SEGMENTS, PARENTS):
        above = joints.get(SEGMENTS[parent])
        has_end = above is not None and _tip(clip, above) is not None
        if segment in joints or segment == 'spine' or (segment in _END_SEGMENTS and has_end):
            continue
        missing.append(segment)
    return missing


def _segment_joints(clip: ClipFile, joints: dict[str, int], name_map: NameMap) -> SegmentJoints:
    frames: list[int] = []
    origins: list[int] = []
    for segment, parent in zip(SEGMENTS, PARENTS):
        own = joints.get(segment)
        frames.append(frames[parent] if own is None else own)
        if own is None:
            own = origins[parent] if segment == 'spine' else _tip(clip, frames[parent])
        assert own is not None
        origins.append(own)
        if parent >= 0 and clip.path_down(frames[parent], frames[-1]) is None:
            below, above = clip.joint_names[frames[-1]], clip.joint_names[frames[parent]]
            wanted, got = f'{segment} below {SEGMENTS[parent]}', f'{below} not below {above}'
            hint = f'joints were named by the map {name_map.name}'
            raise InputFileError(clip.path, wanted, got, field='HIERARCHY', hint=hint)
    extras = {role: joint for role, joint in joints.items() if role not in SEGMENT_INDEX}
    return SegmentJoints(name_map, tuple(frames), tuple(origins), extras)


def bone_vector(clip: ClipFile, joints: SegmentJoints, segment: str, child: str) -> Vec3:
    """Return a child segment's origin in the axes of the segment's joint at rest [m]."""
    start = joints.origins[SEGMENT_INDEX[segment]]
    return clip.rest_offset(start, joints.origins[SEGMENT_INDEX[child]])


_FEW, _MOST = 8, 30  # chains of a joint, and pairs or joints of a chain; bound the search
_FRAMES = 200  # to tell the left from the right
_MIN_EQUAL = 0.85  # shorter over longer chain of a pair
_MIN_SHARE = 0.3  # of an arm's chain over a leg's
_MIN_BEND = 0.5  # sine; a foot that goes on along its shank has no toes
_MIN_VOTES = 0.3  # of the frames for one side being the left, less those for the other
# Parts of a limb and what follows; upper over lower part, what is before and after both over both
_LEG = ('thigh', 'shank', 'foot', 'toe'), np.array([0.0, 0.2, 0.23])
_ARM = ('upper_arm', 'forearm', 'hand', 'fingers'), np.array([np.log(1.1), 0.45, 0.33])


def joints_by_structure(clip: ClipFile) -> dict[str, int] | str:
    """
    Return the joint of each segment, and of toes and fingers, or what was not found.

    Two long chains of equal length hang from the pelvis, two more from the chest above it; their
    joints are those whose bones have the most human shares (DrillisContini1966).
    """
    tree = _Tree(clip)
    choices = [
        (legs, arms)
        for legs, arms in permutations(sorted(tree.pairs(), reverse=True)[:_MOST], 2)
        if (path := clip.path_down(legs[1], arms[1]))
        and path[0] not in legs[2:]
        and arms[0] > _MIN_SHARE * legs[0]
    ]
    if not choices:
        return 'no pair of arms above a pair of legs'
    legs, arms = max(choices, key=lambda pairs: pairs[0][0] + pairs[1][0])
    lower, upper = (
        [tree.limb(k, shares) for k in pair[2:]]
        for pair, (_, shares) in ((legs, _LEG), (arms, _ARM))
    )
    neck = [k for k in tree.inner[arms[1]] if k not in arms[2:]]
    if not neck or not all([*lower, *upper]):
        return 'no neck, or limbs without two bones'
    points = clip.thinned(_FRAMES).world()[1]
    hips, knees, ankles, toes = (
        np.stack([points[:, limb[k]] for limb in lower], axis=1) for k in (0, 1, 2, -1)
    )
    # Toes point forward, shanks bend backward: both products point to the left.
    shanks, feet = ankles - knees, toes - ankles
    lefts = np.cross(feet, shanks)
    sizes = np.linalg.norm((lefts, feet, shanks), axis=3)
    if sizes[0].sum() <= _MIN_BEND * (sizes[1] * sizes[2]).sum():
        lefts = np.cross(knees - hips, shanks)
    across = hips[:, 0] - hips[:, 1]
    votes = np.sum(across * lefts.sum(axis=1), axis=1)
    if abs(votes.sum()) <= _MIN_VOTES * np.abs(votes).sum():
        return 'neither toes nor knees that point forward'
    shoulders = points[:, upper[0][0]] - points[:, upper[1][0]]
    left, same = votes.sum(), np.sum(across * shoulders)
    roles = {'pelvis': legs[1], 'chest': arms[1]}
    if len(path := clip.path_down(legs[1], arms[1]) or ()) > 1:
        roles['spine'] = path[0]
    while neck:
        roles['head'] = max(neck, key=lambda k: tree.reach[k])
        inner = tree.inner[roles['head']]
        neck = inner if len(inner) == 1 else []  # else the face begins
    for limbs, (parts, _), sign in ((lower, _LEG, left), (upper, _ARM, left * same)):
        for side, limb in zip(('left', 'right'), limbs if sign > 0.0 else limbs[::-1]):
            roles |= {f'{side}_{p}': k for p, k in zip(parts, limb) if not clip.is_tip(k)}
    return roles


class _Tree:
    """A file's joints, and how far it is down along the bones."""

    def __init__(self, clip: ClipFile) -> None:
        self.clip = clip
        joints = range(len(clip.parents))
        self.inner = [[k for k in clip.children(j) if not clip.is_tip(k)] for j in joints]
        self.bones = np.linalg.norm(clip.offsets, axis=1)
        self.reach = self.bones.copy()  # from a joint's parent to the farthest end below it [m]
        for joint in reversed(joints[1:]):
            parent = clip.parents[joint]
            through = self.bones[parent] + self.reach[joint]
            self.reach[parent] = max(self.reach[parent], through)

    def pairs(self) -> list[tuple[float, int, int, int]]:
        """Return the shorter length [m], joint and children of pairs of equally long chains."""
        longest = [sorted(inner, key=lambda k: -self.reach[k])[:_FEW] for inner in self.inner]
        return [
            (float(self.reach[short]), joint, long, short)
            for joint, inner in enumerate(longest)
            for long, short in combinations(inner, 2)
            if self.reach[short] > _MIN_EQUAL * self.reach[long]
        ]

    def limb(self, first: int, shares: Floats) -> list[int]:
        """Return the three joints of a limb and what is below on the longest way, [] if none."""
        chain = [first]
        while (children := self.clip.children(chain[-1])) and len(chain) < _MOST:
            chain.append(max(children, key=lambda k: self.reach[k]))
        along = np.cumsum(self.bones[chain])
        # nothing bends below a hand of three fingers
        hands = [at for at, k in enumerate(chain) if at > 1 and len(self.inner[k]) > 2]
        places = combinations(range(min([*hands, len(chain) - 1]) + 1), 3)

        def unlikely(three: tuple[int, ...]) -> float:
            start, middle, end = along[list(three)]
            if not start < middle < end:
                return np.inf
            parts = np.log((middle - start) / (end - middle)), start, along[-1] - end
            return float(np.sum((parts / np.array([1.0, end - start, end - start]) - shares) ** 2))

        best = min(places, key=unlikely, default=())
        return [*(chain[k] for k in best), *chain[best[-1] + 1 :]] if best else []
