# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Which joint of a clip file carries which segment: built-in namings, YAML maps, and the search.

Names are compared without case and separators (blank, dot, hyphen, underscore), without a
namespace ('mixamorig:Hips', 'Bip01 L Thigh') and without a prefix that all joints of the file
share ('Actor1_Hips'). Joints that no map names (fingers, twist bones, helpers) are passed over.
Hands, feet and the head may be missing if the chain has an end there; the spine may be missing
altogether. `match_joints` is the search.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import os.path
from pathlib import Path
import re

from puppet_core.body import PARENTS, SEGMENT_INDEX, SEGMENTS
from puppet_core.clips.clip_file import ClipFile
from puppet_core.io import brief, ConfigError, InputFileError, load_yaml

# Joints that give the length of a foot and a hand; without them the chain's own end is taken.
EXTRA_ROLES = ('left_toe', 'right_toe', 'left_fingers', 'right_fingers')
ROLES = SEGMENTS + EXTRA_ROLES
# Spines are numbered from the pelvis up; the chest is the last one, where arms and neck start.
_LAST_SPINES = tuple(f'Spine{i}' for i in range(9, 0, -1))

_MOTIONBUILDER = {
    'pelvis': ('Hips',),
    'spine': ('LowerBack', 'Spine'),
    'chest': (*_LAST_SPINES, 'UpperChest', 'Chest', 'Spine'),
    'head': ('Head',),
    '{side}_upper_arm': ('{S}Arm',),
    '{side}_forearm': ('{S}ForeArm',),
    '{side}_hand': ('{S}Hand',),
    '{side}_thigh': ('{S}UpLeg',),
    '{side}_shank': ('{S}Leg',),
    '{side}_foot': ('{S}Foot',),
    '{side}_toe': ('{S}ToeBase', '{S}Toe'),
    '{side}_fingers': ('{S}HandMiddle1', '{S}FingerBase', '{S}InHandMiddle', '{S}HandIndex1'),
}
_TEMPLATES: dict[str, dict[str, tuple[str, ...]]] = {
    # The CMU database's own ASF files, and HDM05, made with the same tools. The bone 'wrist' is
    # the lower half of the forearm, which only twists.
    'cmu_asf': {
        'pelvis': ('root',),
        'spine': ('lowerback',),
        'chest': ('thorax',),
        'head': ('head',),
        '{side}_upper_arm': ('{s}humerus',),
        '{side}_forearm': ('{s}radius',),
        '{side}_hand': ('{s}hand',),
        '{side}_thigh': ('{s}femur',),
        '{side}_shank': ('{s}tibia',),
        '{side}_foot': ('{s}foot',),
        '{side}_toe': ('{s}toes',),
        '{side}_fingers': ('{s}fingers',),
    },
    # BVH conversions of the CMU database for Poser and DAZ figures.
    'cmu_bvh': {
        'pelvis': ('hip',),
        'spine': ('abdomen',),
        'chest': ('chest',),
        'head': ('head',),
        '{side}_upper_arm': ('{s}Shldr',),
        '{side}_forearm': ('{s}ForeArm',),
        '{side}_hand': ('{s}Hand',),
        '{side}_thigh': ('{s}Thigh',),
        '{side}_shank': ('{s}Shin',),
        '{side}_foot': ('{s}Foot',),
        '{side}_fingers': ('{s}Mid1',),
    },
    # MotionBuilder's human, and BVH conversions of the CMU database for it.
    'motionbuilder': _MOTIONBUILDER,
    # The same names behind the namespace 'mixamorig:'.
    'mixamo': {
        **_MOTIONBUILDER,
        'spine': ('Spine',),
        'chest': ('Spine2', 'Spine1'),
        '{side}_toe': ('{S}ToeBase',),
        '{side}_fingers': ('{S}HandMiddle1', '{S}HandIndex1'),
    },
    # Ubisoft La Forge's LAFAN1.
    'lafan1': {
        **_MOTIONBUILDER,
        'spine': ('Spine',),
        'chest': ('Spine2',),
        '{side}_toe': ('{S}Toe',),
        '{side}_fingers': (),
    },
    # The first BVH files, and Xsens MVN's.
    'biovision': {
        'pelvis': ('Hips',),
        'spine': ('Chest',),
        'chest': ('Chest4', 'Chest3', 'Chest2', 'Chest'),
        'head': ('Head',),
        '{side}_upper_arm': ('{S}Shoulder', '{S}UpArm'),
        '{side}_forearm': ('{S}Elbow', '{S}LowArm'),
        '{side}_hand': ('{S}Wrist', '{S}Hand'),
        '{side}_thigh': ('{S}Hip', '{S}UpLeg'),
        '{side}_shank': ('{S}Knee', '{S}LowLeg'),
        '{side}_foot': ('{S}Ankle', '{S}Foot'),
        '{side}_toe': ('{S}Toe',),
    },
    # 3ds Max' Biped (behind 'Bip01 '), Truebones' humans and many games.
    'biped': {
        'pelvis': ('Pelvis',),
        'spine': ('Spine',),
        'chest': (*_LAST_SPINES, 'Spine'),
        'head': ('Head',),
        '{side}_upper_arm': ('{s}UpperArm',),
        '{side}_forearm': ('{s}Forearm',),
        '{side}_hand': ('{s}Hand',),
        '{side}_thigh': ('{s}Thigh',),
        '{side}_shank': ('{s}Calf',),
        '{side}_foot': ('{s}Foot',),
        '{side}_toe': ('{s}Toe0',),
        '{side}_fingers': ('{s}Finger2', '{s}Finger1'),
    },
    # Rokoko Studio.
    'rokoko': {
        **_MOTIONBUILDER,
        'spine': ('Spine', 'Spine1'),
        '{side}_thigh': ('{S}Thigh',),
        '{side}_shank': ('{S}Shin',),
    },
    # Xsens MVN's segments, Unity's and VRM's humanoid.
    'humanoid': {
        'pelvis': ('Hips', 'Pelvis'),
        'spine': ('Spine', 'L5'),
        'chest': ('UpperChest', 'T8', 'Chest', *_LAST_SPINES, 'Spine'),
        'head': ('Head',),
        '{side}_upper_arm': ('{S}UpperArm', 'UpperArm{s}'),
        '{side}_forearm': ('{S}LowerArm', '{S}ForeArm', 'LowerArm{s}'),
        '{side}_hand': ('{S}Hand', 'Hand{s}'),
        '{side}_thigh': ('{S}UpperLeg', 'UpperLeg{s}'),
        '{side}_shank': ('{S}LowerLeg', 'LowerLeg{s}'),
        '{side}_foot': ('{S}Foot', 'Foot{s}'),
        '{side}_toe': ('{S}Toes', '{S}Toe', 'Toes{s}'),
        '{side}_fingers': ('{S}MiddleProximal', '{S}IndexProximal'),
    },
    # DAZ Genesis 3 and 8, whose limbs have a bending and a twisting half; Genesis 9.
    'daz': {
        'pelvis': ('hip',),
        'spine': ('abdomenLower', 'spine1'),
        'chest': ('chestUpper', 'chestLower', 'spine4', 'spine3'),
        'head': ('head',),
        '{side}_upper_arm': ('{s}ShldrBend', '{s}UpperArm'),
        '{side}_forearm': ('{s}ForearmBend', '{s}Forearm'),
        '{side}_hand': ('{s}Hand',),
        '{side}_thigh': ('{s}ThighBend', '{s}Thigh'),
        '{side}_shank': ('{s}Shin',),
        '{side}_foot': ('{s}Foot',),
        '{side}_toe': ('{s}Toe', '{s}Toes'),
        '{side}_fingers': ('{s}Mid1', '{s}Index1'),
    },
    # Poser's written-out names.
    'poser': {
        'pelvis': ('Hip',),
        'spine': ('Abdomen',),
        'chest': ('Chest',),
        'head': ('Head',),
        '{side}_upper_arm': ('{S}Shoulder',),
        '{side}_forearm': ('{S}Forearm',),
        '{side}_hand': ('{S}Hand',),
        '{side}_thigh': ('{S}Thigh',),
        '{side}_shank': ('{S}Shin',),
        '{side}_foot': ('{S}Foot',),
        '{side}_toe': ('{S}Toe',),
    },
    # Unreal Engine's mannequin.
    'unreal': {
        'pelvis': ('pelvis',),
        'spine': ('spine_01',),
        'chest': tuple(f'spine_0{i}' for i in range(9, 0, -1)),
        'head': ('head',),
        '{side}_upper_arm': ('upperarm_{s}',),
        '{side}_forearm': ('lowerarm_{s}',),
        '{side}_hand': ('hand_{s}',),
        '{side}_thigh': ('thigh_{s}',),
        '{side}_shank': ('calf_{s}',),
        '{side}_foot': ('foot_{s}',),
        '{side}_toe': ('ball_{s}',),
        '{side}_fingers': ('middle_01_{s}', 'index_01_{s}'),
    },
    # The SMPL family of body models.
    'smpl': {
        'pelvis': ('Pelvis',),
        'spine': ('Spine1',),
        'chest': ('Spine3', 'Spine2'),
        'head': ('Head',),
        '{side}_upper_arm': ('{s}_Shoulder', '{S}_Shoulder'),
        '{side}_forearm': ('{s}_Elbow', '{S}_Elbow'),
        '{side}_hand': ('{s}_Wrist', '{S}_Wrist'),
        '{side}_thigh': ('{s}_Hip', '{S}_Hip'),
        '{side}_shank': ('{s}_Knee', '{S}_Knee'),
        '{side}_foot': ('{s}_Ankle', '{S}_Ankle'),
        '{side}_toe': ('{s}_Foot', '{S}_Foot'),
        '{side}_fingers': ('{s}_Hand', '{S}_Hand'),
    },
    # Blender's Rigify.
    'rigify': {
        'pelvis': ('hips', 'spine'),
        'spine': ('spine.001',),
        'chest': ('chest', 'spine.003', 'spine.002'),
        'head': ('head', 'spine.006', 'spine.005'),
        '{side}_upper_arm': ('upper_arm.{s}',),
        '{side}_forearm': ('forearm.{s}',),
        '{side}_hand': ('hand.{s}',),
        '{side}_thigh': ('thigh.{s}',),
        '{side}_shank': ('shin.{s}',),
        '{side}_foot': ('foot.{s}',),
        '{side}_toe': ('toe.{s}',),
        '{side}_fingers': ('f_middle.01.{s}', 'f_index.01.{s}'),
    },
    # OptiTrack Motive.
    'optitrack': {
        'pelvis': ('Hip',),
        'spine': ('Ab',),
        'chest': ('Chest',),
        'head': ('Head',),
        '{side}_upper_arm': ('{s}UArm',),
        '{side}_forearm': ('{s}FArm',),
        '{side}_hand': ('{s}Hand',),
        '{side}_thigh': ('{s}Thigh',),
        '{side}_shank': ('{s}Shin',),
        '{side}_foot': ('{s}Foot',),
        '{side}_toe': ('{s}Toe',),
        '{side}_fingers': ('{s}Middle1', '{s}Index1'),
    },
}

PUPPET = 'puppet'  # our own names, as `write_bvh` writes them

FORMAT = 'puppet-name-map/1'
DERIVE = 'derive'
T_POSE = 't_pose'
REST_POSES = (DERIVE, T_POSE)

# Segments that end a chain: without a joint of their own they sit at their parent's end.
_END_SEGMENTS = frozenset(('head', 'left_hand', 'right_hand', 'left_foot', 'right_foot'))
_NAMESPACE = re.compile(r'^(.*:|mixamorig\d*_?|(bn_)?bip\d+[ _.-]+)', re.IGNORECASE)
_SEPARATORS = str.maketrans('', '', ' _.-')


def _expand(template: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the table with both sides written out."""
    table = {}
    for side in ('left', 'right'):
        words = {'side': side, 'S': side.capitalize(), 's': side[0]}
        for role, names in template.items():
            table[role.format(**words)] = tuple(name.format(**words) for name in names)
    return table


BUILT_IN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    PUPPET: {segment: (segment,) for segment in SEGMENTS},
    **{name: _expand(template) for name, template in _TEMPLATES.items()},
}


KNOWN_MAPS = tuple(BUILT_IN)


@dataclass(frozen=True, slots=True)
class NameMap:
    """Candidates of joint names for each role, and what the file's zero pose is."""

    name: str
    """For messages."""

    joints: Mapping[str, Sequence[str]]
    """Candidates by role, the first that the file has is taken."""

    rest: str = DERIVE
    """T_POSE if zero rotations are our rest pose exactly, DERIVE to work it out."""

    ends_are_interaction_points: bool = False
    """Whether the ends of hands and feet are palm and sole centres."""


@dataclass(frozen=True, slots=True)
class SegmentJoints:
    """The joints of one file that make our segments."""

    map: NameMap  # noqa: A003
    """The map that fitted."""

    frames: tuple[int, ...]
    """Joint whose rotation the segment has, length 16."""

    origins: tuple[int, ...]
    """Joint at the segment's origin, length 16; differs where the segment has none of its own."""

    extras: Mapping[str, int]
    """Joints of the extra roles that the file has."""


def built_in_map(name: str) -> NameMap:
    """Return one of KNOWN_MAPS."""
    if name not in BUILT_IN:
        known = ', '.join(KNOWN_MAPS)
        raise ConfigError(f'name_map: expected one of {known} or a YAML file, got {name!r}')
    is_own = name == PUPPET
    return NameMap(name, BUILT_IN[name], T_POSE if is_own else DERIVE, is_own)


def load_name_map(path: str | Path) -> NameMap:
    """
    Read a map from YAML.

    The file has `format: puppet-name-map/1`, optionally `name`, `rest` (derive or t_pose), and
    `joints`: for each role a joint name or a list of candidates.

    Raises
    ------
    InputFileError : naming file, line and key.

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
    Return the joints of our segments.

    Parameters
    ----------
    clip : ClipFile
        The file.
    name_map : NameMap, optional
        The only map to try; without it the built-in one that finds most.

    Raises
    ------
    InputFileError : naming the segments without a joint, the file's joints and the known maps.

    """
    maps = [built_in_map(name) for name in KNOWN_MAPS] if name_map is None else [name_map]
    plain_names = _plain_names(clip)
    found = [(_find(plain_names, candidate), candidate) for candidate in maps]
    trials = [(_missing(clip, joints), joints, candidate) for joints, candidate in found]
    complete = [trial for trial in trials if not trial[0]]
    if not complete:
        raise _unknown_joints(clip, min(trials, key=lambda trial: len(trial[0])), name_map is None)
    _, joints, best = max(complete, key=lambda trial: len(trial[1]))
    return _segment_joints(clip, joints, best)


def _plain_names(clip: ClipFile) -> dict[str, int]:
    """Return joints (no tips) by name without case and namespace, with and without prefix."""
    real = [i for i in range(len(clip.joint_names)) if not clip.is_tip(i)]
    names = {i: _NAMESPACE.sub('', clip.joint_names[i]).lower() for i in real}
    # The root is often a helper without the prefix.
    below = list(names.values())[1:]
    shared = os.path.commonprefix(below) if len(below) > 1 else ''
    cut = max(shared.rfind('_'), shared.rfind(' '), shared.rfind('.')) + 1
    plain: dict[str, int] = {}
    for start in (0, cut):
        for i in (i for i in real if names[i].startswith(shared[:start])):
            plain.setdefault(names[i][start:].translate(_SEPARATORS), i)
    return plain


def _plain(candidate: str) -> str:
    return _NAMESPACE.sub('', candidate).lower().translate(_SEPARATORS)


def _find(plain_names: Mapping[str, int], name_map: NameMap) -> dict[str, int]:
    """Return the joint of each role that has one; no joint serves two segments."""
    joints: dict[str, int] = {}
    # The chest before the spine: a single spine joint is the chest.
    for role in sorted(name_map.joints, key=lambda role: role == 'spine'):
        for candidate in name_map.joints[role]:
            joint = plain_names.get(_plain(candidate))
            if joint is not None and joint not in joints.values():
                joints[role] = joint
                break
    return joints


def _tip(clip: ClipFile, joint: int) -> int | None:
    return next((k for k in clip.children(joint) if clip.is_tip(k)), None)


def _missing(clip: ClipFile, joints: Mapping[str, int]) -> list[str]:
    """Return the segments that the file cannot be mapped without."""
    missing = []
    for segment in SEGMENTS:
        parent = SEGMENTS[PARENTS[SEGMENT_INDEX[segment]]]
        has_end = parent in joints and _tip(clip, joints[parent]) is not None
        if segment in joints or segment == 'spine' or (segment in _END_SEGMENTS and has_end):
            continue
        missing.append(segment)
    return missing


def _segment_joints(clip: ClipFile, joints: dict[str, int], name_map: NameMap) -> SegmentJoints:
    frames: list[int] = []
    origins: list[int] = []
    for index, segment in enumerate(SEGMENTS):
        parent = int(PARENTS[index])
        joint = joints.get(segment)
        frames.append(frames[parent] if joint is None else joint)
        if joint is not None:
            origins.append(joint)
        elif segment == 'spine':
            origins.append(origins[parent])
        else:
            tip = _tip(clip, frames[parent])
            assert tip is not None
            origins.append(tip)
        if parent >= 0 and clip.path_down(frames[parent], frames[-1]) is None:
            below, above = clip.joint_names[frames[-1]], clip.joint_names[frames[parent]]
            raise InputFileError(
                clip.path,
                f'{segment} below {SEGMENTS[parent]}',
                f'{below} not below {above}',
                field='HIERARCHY',
                hint=f'joints were named by the map {name_map.name}',
            )
    extras = {role: joint for role, joint in joints.items() if role not in SEGMENT_INDEX}
    return SegmentJoints(name_map, tuple(frames), tuple(origins), extras)


def _unknown_joints(
    clip: ClipFile, trial: tuple[list[str], dict[str, int], NameMap], is_search: bool
) -> InputFileError:
    missing, _, nearest = trial
    names = ', '.join(n for i, n in enumerate(clip.joint_names) if not clip.is_tip(i))
    known = ', '.join(KNOWN_MAPS)
    wanted = 'joints of a known skeleton' if is_search else f'joints of the map {nearest.name}'
    by_map = f' by the nearest map, {nearest.name}' if is_search else ''
    hint = f'joints here: {names}; known maps: {known}; or give a {FORMAT} file'
    got = f'none for {", ".join(missing)}{by_map}'
    return InputFileError(clip.path, wanted, got, field='joint names', hint=hint)
