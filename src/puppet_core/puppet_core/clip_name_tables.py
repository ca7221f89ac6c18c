# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The skeleton namings we know: which joint of a file carries which of our segments.

Data only. A role is a segment of SPEC 2, or one of EXTRA_ROLES; each has its candidates, the
first that the file has is taken. `{S}`, `{s}` and `{side}` stand for Left/Right, l/r, left/right.
Case, blanks, dots, hyphens and underscores do not count: 'Bip01 L Thigh' is 'LThigh' here.

"""

from collections.abc import Mapping

from puppet_core.skeleton import SEGMENTS

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


def _expand(template: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the table with both sides written out."""
    table = {}
    for side in ('left', 'right'):
        words = {'side': side, 'S': side.capitalize(), 's': side[0]}
        for role, names in template.items():
            table[role.format(**words)] = tuple(name.format(**words) for name in names)
    return table


PUPPET = 'puppet'  # our own names, as written by clip_bvh_write
BUILT_IN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    PUPPET: {segment: (segment,) for segment in SEGMENTS},
    **{name: _expand(template) for name, template in _TEMPLATES.items()},
}
