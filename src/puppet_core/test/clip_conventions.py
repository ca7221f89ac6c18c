# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Skeletons as programs name and build them, and a motion of ours written as their BVH.

Independent of the code under test: Euler angles and chains are scipy's. Joints that are none of
our segments are there too: vertebrae and collars that stay put, twist bones that turn about
their limb, fingers and toes that wiggle, helpers above the pelvis.
"""

from dataclasses import dataclass

from clip_samples import bvh_file, default_ends, FileJoint, ORDERS, rotation, Y_UP
import numpy as np
from puppet_core.body.skeleton import PARENTS, SEGMENT_INDEX, SEGMENTS
from scipy.spatial.transform import Rotation


@dataclass(frozen=True)
class Convention:
    """Names in chains; `name=segment` is a segment, `~name` twists, other joints stay put."""

    trunk: str
    arm: str
    leg: str
    fingers: str = ''
    above: str = ''
    prefix: str = ''


_MB_ARM = '{S}Shoulder {S}Arm=upper_arm {S}ForeArm=forearm {S}Hand=hand'
_MB_LEG = '{S}UpLeg=thigh {S}Leg=shank {S}Foot=foot {S}ToeBase'
CONVENTIONS = {
    'cmu for motionbuilder': Convention(
        'Hips=pelvis LowerBack=spine Spine Spine1=chest Neck Neck1 Head=head',
        _MB_ARM,
        '{S}HipJoint ' + _MB_LEG,
        '{S}FingerBase {S}HandIndex1',
    ),
    'cmu for daz': Convention(
        'hip=pelvis abdomen=spine chest=chest neck head=head',
        '{s}Collar {s}Shldr=upper_arm {s}ForeArm=forearm {s}Hand=hand',
        '{s}Buttock {s}Thigh=thigh {s}Shin=shank {s}Foot=foot',
        '{s}Mid1 {s}Mid2',
    ),
    'mixamo': Convention(
        'Hips=pelvis Spine=spine Spine1 Spine2=chest Neck Head=head',
        _MB_ARM,
        _MB_LEG,
        '{S}HandMiddle1 {S}HandMiddle2',
        prefix='mixamorig:',
    ),
    'humanik': Convention(
        'Hips=pelvis Spine=spine Spine1 Spine2 Spine3=chest Neck Head=head',
        '{S}Shoulder {S}Arm=upper_arm ~{S}ArmRoll {S}ForeArm=forearm ~{S}ForeArmRoll {S}Hand=hand',
        '{S}UpLeg=thigh ~{S}UpLegRoll {S}Leg=shank ~{S}LegRoll {S}Foot=foot {S}ToeBase',
        '{S}HandMiddle1',
        above='Reference',
        prefix='Character1_',
    ),
    'rokoko': Convention(
        'Hips=pelvis Spine1=spine Spine2 Spine3 Spine4=chest Neck Head=head',
        _MB_ARM,
        '{S}Thigh=thigh {S}Shin=shank {S}Foot=foot {S}Toe',
    ),
    'xsens bvh': Convention(
        'Hips=pelvis Chest=spine Chest2 Chest3 Chest4=chest Neck Head=head',
        '{S}Collar {S}Shoulder=upper_arm {S}Elbow=forearm {S}Wrist=hand',
        '{S}Hip=thigh {S}Knee=shank {S}Ankle=foot {S}Toe',
    ),
    'xsens segments': Convention(
        'Pelvis=pelvis L5=spine L3 T12 T8=chest Neck Head=head',
        '{S}Shoulder {S}UpperArm=upper_arm {S}ForeArm=forearm {S}Hand=hand',
        '{S}UpperLeg=thigh {S}LowerLeg=shank {S}Foot=foot {S}Toe',
    ),
    'unity and vrm': Convention(
        'Hips=pelvis Spine=spine Chest UpperChest=chest Neck Head=head',
        '{S}Shoulder {S}UpperArm=upper_arm {S}LowerArm=forearm {S}Hand=hand',
        '{S}UpperLeg=thigh {S}LowerLeg=shank {S}Foot=foot {S}Toes',
        '{S}MiddleProximal {S}MiddleIntermediate',
    ),
    'biped': Convention(
        'Pelvis=pelvis Spine=spine Spine1 Spine2=chest Neck Head=head',
        '{U} Clavicle|{U} UpperArm=upper_arm|{U} Forearm=forearm|~{U} ForeTwist|{U} Hand=hand',
        '{U} Thigh=thigh|{U} Calf=shank|{U} Foot=foot|{U} Toe0',
        '{U} Finger2|{U} Finger21',
        above='Bip01',
        prefix='Bip01 ',
    ),
    'truebones': Convention(
        'Pelvis=pelvis Spine=spine Spine1=chest Neck Head=head',
        '{U}_Clavicle {U}_UpperArm=upper_arm {U}_Forearm=forearm {U}_Hand=hand',
        '{U}_Thigh=thigh {U}_Calf=shank {U}_Foot=foot {U}_Toe0',
        prefix='BN_Bip01_',
    ),
    'daz genesis 8': Convention(
        'hip=pelvis abdomenLower=spine abdomenUpper chestLower chestUpper=chest neckLower '
        'neckUpper head=head',
        '{s}Collar {s}ShldrBend=upper_arm ~{s}ShldrTwist {s}ForearmBend=forearm '
        '~{s}ForearmTwist {s}Hand=hand',
        'pelvis{U} {s}ThighBend=thigh ~{s}ThighTwist {s}Shin=shank {s}Foot=foot {s}Toe',
        '{s}Mid1 {s}Mid2',
    ),
    'daz genesis 9': Convention(
        'hip=pelvis spine1=spine spine2 spine3 spine4=chest neck1 neck2 head=head',
        '{s}_shoulder {s}_upperarm=upper_arm {s}_forearm=forearm {s}_hand=hand',
        '{s}_thigh=thigh {s}_shin=shank {s}_foot=foot {s}_toes',
        '{s}_mid1',
    ),
    'poser': Convention(
        'Hip=pelvis Abdomen=spine Chest=chest Neck Head=head',
        '{S}_Collar {S}_Shoulder=upper_arm {S}_Forearm=forearm {S}_Hand=hand',
        '{S}_Thigh=thigh {S}_Shin=shank {S}_Foot=foot {S}_Toe',
    ),
    'unreal': Convention(
        'pelvis=pelvis spine_01=spine spine_02 spine_03=chest neck_01 head=head',
        'clavicle_{s} upperarm_{s}=upper_arm lowerarm_{s}=forearm hand_{s}=hand',
        'thigh_{s}=thigh calf_{s}=shank foot_{s}=foot ball_{s}',
        'middle_01_{s} middle_02_{s}',
        above='root',
    ),
    'mocapnet': Convention(
        'hip=pelvis abdomen=spine chest=chest neck neck1 head=head',
        '{s}collar {s}shoulder=upper_arm {s}elbow=forearm {s}hand=hand',
        '{s}buttock {s}hip=thigh {s}knee=shank {s}foot=foot toe1-1.{s} toe1-2.{s}',
        'finger3-1.{s} finger3-2.{s}',
    ),
    'smpl': Convention(
        'Pelvis=pelvis Spine1=spine Spine2 Spine3=chest Neck Head=head',
        '{U}_Collar {U}_Shoulder=upper_arm {U}_Elbow=forearm {U}_Wrist=hand',
        '{U}_Hip=thigh {U}_Knee=shank {U}_Ankle=foot {U}_Foot',
        '{U}_Hand',
    ),
    'rigify': Convention(
        'spine=pelvis spine.001=spine spine.002 spine.003=chest spine.004 spine.006=head',
        'shoulder.{U} upper_arm.{U}=upper_arm forearm.{U}=forearm hand.{U}=hand',
        'thigh.{U}=thigh shin.{U}=shank foot.{U}=foot toe.{U}',
        'f_middle.01.{U}',
    ),
    'optitrack': Convention(
        'Hip=pelvis Ab=spine Chest=chest Neck Head=head',
        '{U}Shoulder {U}UArm=upper_arm {U}FArm=forearm {U}Hand=hand',
        '{U}Thigh=thigh {U}Shin=shank {U}Foot=foot {U}Toe',
        '{U}Middle1',
    ),
}


@dataclass(frozen=True)
class Style:
    """How a program writes what it has."""

    unit_m: float = 0.01
    world: Rotation = Y_UP
    six_dof: bool = False
    rng: np.random.Generator | None = None  # Of the orders of rotations; ZXY without
    folded: np.random.Generator | None = None  # Of joint axes whose zero pose means nothing
    named: bool = True  # Else joints have numbers


@dataclass
class Joint:
    """One joint of the file: its place in the segment that carries it, and its own turning."""

    name: str
    parent: int
    carrier: int
    is_segment: bool
    place: np.ndarray
    turning: Rotation


def joint_table(motion, convention, rng):
    """Return the joints, parents first."""
    table = []
    skeleton, n = motion.skeleton, motion.n_frames
    still = Rotation.from_quat(np.tile([0.0, 0.0, 0.0, 1.0], (n, 1)))

    def wiggle(axis=None):
        vector = rng.normal(size=3) if axis is None else axis
        return Rotation.from_rotvec(
            np.sin(np.linspace(0.0, 9.0, n) + rng.uniform(0.0, 6.0))[:, None] * vector
        )

    def add_chain(words, parent, side, ends=None):
        names = [w.format(S=side.capitalize(), s=side[:1], U=side[:1].upper()) for w in words]
        for at, word in enumerate(names):
            name, _, segment = word.partition('=')
            carrier = table[parent].carrier if parent >= 0 else 0
            if segment:
                index = SEGMENT_INDEX[segment if segment in SEGMENT_INDEX else f'{side}_{segment}']
                assert PARENTS[index] in (-1, carrier) or index == 0
                table.append(Joint(name, parent, index, True, skeleton.offsets[index], still))
            else:
                after = next((w.partition('=')[2] for w in names[at:] if '=' in w), '')
                after = after if after in SEGMENT_INDEX else f'{side}_{after}'
                tip = skeleton.offsets[SEGMENT_INDEX[after]] if after in SEGMENT_INDEX else None
                if tip is None:  # a finger or toe
                    place = default_ends(skeleton)[SEGMENTS[carrier]] * (1.0 + 0.3 * (at > 0))
                    turning = wiggle()
                else:
                    place = 0.5 * tip if parent >= 0 else 0.0 * tip
                    axis = 0.5 * tip / max(np.linalg.norm(tip), 1e-9)
                    turning = wiggle(axis) if name.startswith('~') else still
                table.append(Joint(name.lstrip('~'), parent, carrier, False, place, turning))
            parent = len(table) - 1

    def split(words):
        return words.split('|') if '|' in words else words.split()

    def at_segment(name):
        return next(i for i, j in enumerate(table) if j.is_segment and SEGMENTS[j.carrier] == name)

    add_chain([*convention.above.split(), *split(convention.trunk)], -1, 'left')
    for side in ('left', 'right'):
        add_chain(split(convention.arm), at_segment('chest'), side)
        if convention.fingers:
            add_chain(split(convention.fingers), at_segment(f'{side}_hand'), side)
        add_chain(split(convention.leg), at_segment('pelvis'), side)
    return table


def convention_text(motion, convention, rng, style=Style()):
    """Return the motion as a BVH file of a convention."""
    table = joint_table(motion, convention, rng)
    q_world, p_world = motion.world_segments()
    turns, points = [], []
    for joint in table:
        carrier = rotation(q_world[:, joint.carrier])
        origin = p_world[:, joint.carrier]
        points.append(origin if joint.is_segment else origin + carrier.apply(joint.place))
        turns.append(style.world * carrier * joint.turning * style.world.inv())
    points = [style.world.apply(point) / style.unit_m for point in points]
    axes = [Rotation.identity()] * len(table)
    if style.folded is not None:
        for index, joint in enumerate(table):
            way = style.folded.normal(size=3)
            way *= style.folded.uniform(1.8, 3.1) / np.linalg.norm(way)
            axes[index] = axes[joint.parent] * Rotation.from_rotvec(way)
    turns = [turn * own for turn, own in zip(turns, axes)]
    joints = []
    for index, joint in enumerate(table):
        above, is_root = table[joint.parent], joint.parent < 0
        offset = np.zeros(3)
        if not is_root:
            is_same = joint.is_segment or above.carrier == joint.carrier
            offset = joint.place - above.place * (is_same and not above.is_segment)
        offset = axes[joint.parent].inv().apply(style.world.apply(offset) / style.unit_m)
        places = points[0] if is_root else np.tile(offset, (motion.n_frames, 1))
        is_leaf = all(other.parent != index for other in table)
        end = (
            axes[index].inv().apply(style.world.apply(_end(motion.skeleton, joint)) / style.unit_m)
        )
        row = FileJoint(
            _name(joint.name, convention) if style.named else f'b{index}',
            joint.parent,
            offset,
            turns[index] if is_root else turns[joint.parent].inv() * turns[index],
            'ZXY' if style.rng is None else str(style.rng.choice(ORDERS)),
            places if is_root or style.six_dof else None,
            end if is_leaf else None,
        )
        joints.append(row)
    return bvh_file(joints, motion.rate_hz)


def _name(name, convention):
    return name if name == convention.above else convention.prefix + name


def _end(skeleton, joint):
    """Return where the chain ends after a leaf joint, in its carrier's axes [m]."""
    ends = default_ends(skeleton)
    name = SEGMENTS[joint.carrier]
    if name not in ends:
        return np.array([0.0, 0.0, 0.15])
    return ends[name] if joint.is_segment else 0.3 * ends[name]
