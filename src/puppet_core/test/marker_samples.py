# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A body of markers in our segments' axes, worn as the marker sets want it, and its motion.

Independent of the code under test: places are worked out by hand from the sets' definitions,
trajectories by scipy's rotations.
"""

from clip_samples import rotation, wave_motion
import numpy as np
from puppet_core.body.posture import Motion
from puppet_core.body.skeleton import SEGMENT_INDEX, Skeleton

WIDTH_M, DEPTH_M = 0.24, 0.16  # of the pelvis, between its markers
_HIP_OUT = 0.33 * WIDTH_M + 0.0073
_HIP_BACK = 0.24 * DEPTH_M + 0.0099
_HIP_DOWN = 0.30 * WIDTH_M + 0.0109
KNEE_M, ANKLE_M, ELBOW_M, SHOULDER_M = 0.059, 0.043, 0.045, 0.05
THIGH_M, SHANK_M, ARM_M, FOREARM_M = 0.43, 0.42, 0.30, 0.26
# The pelvis' joint is between the hips; the middle of its four markers is the spine's joint.
_TOP = (_HIP_BACK - 0.5 * DEPTH_M, 0.0, _HIP_DOWN)
_NECK = 0.22


def skeleton():
    rows = {'spine': _TOP, 'chest': (0.0, 0.0, 0.16), 'head': (0.0, 0.0, _NECK)}
    for side, sign in (('left', 1.0), ('right', -1.0)):
        rows[f'{side}_upper_arm'] = (0.0, 0.18 * sign, _NECK - 0.02)
        rows[f'{side}_forearm'] = (0.0, ARM_M * sign, 0.0)
        rows[f'{side}_hand'] = (0.0, FOREARM_M * sign, 0.0)
        rows[f'{side}_thigh'] = (0.0, _HIP_OUT * sign, 0.0)
        rows[f'{side}_shank'] = (0.0, 0.0, -THIGH_M)
        rows[f'{side}_foot'] = (0.0, 0.0, -SHANK_M)
    offsets = np.zeros((16, 3))
    for name, offset in rows.items():
        offsets[SEGMENT_INDEX[name]] = offset
    points = [(0, 0.05, 0), (0, -0.05, 0), (0.06, 0, -0.08), (0.06, 0, -0.08)]
    return Skeleton(offsets, np.array(points))


def plug_in_gait():
    """Return each marker's segment and place in its axes [m]."""
    front = (_HIP_BACK, 0.0, _HIP_DOWN)
    rows = {
        'LASI': ('pelvis', (front[0], 0.5 * WIDTH_M, front[2])),
        'RASI': ('pelvis', (front[0], -0.5 * WIDTH_M, front[2])),
        'LPSI': ('pelvis', (front[0] - DEPTH_M, 0.05, front[2])),
        'RPSI': ('pelvis', (front[0] - DEPTH_M, -0.05, front[2])),
        'STRN': ('chest', (0.11, 0.0, 0.0)),
        'T10': ('chest', (-0.11, 0.0, 0.0)),
        'CLAV': ('chest', (0.07, 0.0, _NECK)),
        'C7': ('chest', (-0.07, 0.0, _NECK)),
        'LFHD': ('head', (0.1, 0.07, 0.15)),
        'RFHD': ('head', (0.1, -0.07, 0.15)),
        'LBHD': ('head', (-0.1, 0.07, 0.15)),
        'RBHD': ('head', (-0.1, -0.07, 0.15)),
    }
    for side, sign in (('left', 1.0), ('right', -1.0)):
        # The marker on a joint sees its centre and the joint above at a right angle.
        mine = {
            'SHO': ('chest', (0.0, 0.18 * sign, _NECK - 0.02 + SHOULDER_M)),
            'UPA': ('upper_arm', (0.0, 0.15 * sign, 0.05)),
            'ELB': ('upper_arm', (0.0, ARM_M * sign, ELBOW_M)),
            'FRM': ('forearm', (0.0, 0.1 * sign, 0.04)),
            'WRA': ('hand', (0.03, 0.0, 0.0)),
            'WRB': ('hand', (-0.03, 0.0, 0.0)),
            'FIN': ('hand', (0.0, 0.09 * sign, 0.0)),
            'THI': ('thigh', (0.0, 0.11 * sign, -0.2)),
            'KNE': ('thigh', (0.0, KNEE_M * sign, -THIGH_M)),
            'TIB': ('shank', (0.0, 0.09 * sign, -0.2)),
            'ANK': ('shank', (0.0, ANKLE_M * sign, -SHANK_M)),
            'HEE': ('foot', (-0.05, 0.0, -0.04)),
            'TOE': ('foot', (0.15, 0.0, -0.04)),
        }
        for name, (part, place) in mine.items():
            whole = part if part == 'chest' else f'{side}_{part}'
            rows[side[0].upper() + name] = (whole, place)
    return rows


def helen_hayes():
    """Return each marker's segment and place in its axes [m], elbows with a second marker."""
    usual = plug_in_gait()
    names = {
        'ASI': 'ASIS',
        'SHO': 'Shoulder',
        'ELB': 'Elbow',
        'THI': 'Thigh',
        'KNE': 'Knee',
        'TIB': 'Shank',
        'ANK': 'Ankle',
        'HEE': 'Heel',
        'TOE': 'Toe',
    }
    rows = {f'{side}.{names[name]}': usual[side + name] for side in 'LR' for name in names}
    for side, word, sign in (('L', 'left', 1.0), ('R', 'right', -1.0)):
        rows[f'{side}.Wrist'] = (f'{word}_hand', (0.0, 0.0, 0.0))
        rows[f'{side}.Elbow.Medial'] = (f'{word}_upper_arm', (0.0, ARM_M * sign, -ELBOW_M))
    rows['V.Sacral'] = ('pelvis', (_HIP_BACK - DEPTH_M, 0.0, _HIP_DOWN))
    rows['Top.Head'] = ('head', (0.0, 0.0, 0.25))
    rows['Front.Head'] = ('head', (0.1, 0.0, 0.15))
    rows['Rear.Head'] = ('head', (-0.1, 0.0, 0.15))
    return rows


def marker_motion(rng):
    """Return a motion whose elbows and knees bend as hinges do, so that markers show them."""
    motion = wave_motion(skeleton(), rng, swing=0.4)
    rotations = np.array(motion.rotations)
    # Between two markers at the ankle nothing shows how a foot rolls: it only bends.
    for foot in (12, 15):
        angle = np.arctan2(rotations[:, foot, 2], rotations[:, foot, 0])
        rotations[:, foot] = 0.0
        rotations[:, foot, 0], rotations[:, foot, 2] = np.cos(angle), np.sin(angle)
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, motion.root_positions, rotations)


def trajectories(motion, worn):
    """Return the markers in world, shape (n, m, 3) [m]."""
    q_world, p_world = motion.world_segments()
    columns = []
    for segment, place in worn.values():
        index = SEGMENT_INDEX[segment]
        columns.append(p_world[:, index] + rotation(q_world[:, index]).apply(place))
    return np.stack(columns, axis=1)
