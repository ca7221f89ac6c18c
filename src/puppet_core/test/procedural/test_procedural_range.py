# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The range-of-motion script: every joint goes through its range, smoothly and without a seam."""

import numpy as np
from puppet_core.body.skeleton import SEGMENTS
from puppet_core.math import quaternions
from puppet_core.procedural.calibration_motion import range_of_motion, RANGE_S, T_POSE_S

RATE_HZ = 60.0
MAX_DEG_S = 500.0  # what a person does without hurry
RANGES_DEG = {
    'upper_arm': 80.0,
    'forearm': 110.0,
    'hand': 60.0,
    'thigh': 60.0,
    'shank': 80.0,
    'foot': 40.0,
}


def test_it_begins_and_ends_in_the_t_pose(adult_character):
    motion = range_of_motion(adult_character, RATE_HZ)
    assert motion.n_frames == round((T_POSE_S + RANGE_S) * RATE_HZ)
    still = motion.rotations[: round(T_POSE_S * RATE_HZ)]
    np.testing.assert_array_equal(still[..., 0], 1.0)
    # what is left at the end is what one frame moves
    assert np.max(np.abs(motion.end_effectors[-1] - motion.end_effectors[0])) < 1e-3


def test_every_limb_joint_goes_through_its_range(adult_character):
    motion = range_of_motion(adult_character, RATE_HZ)
    for index, name in enumerate(SEGMENTS):
        part = name.split('_', 1)[-1]
        if part in RANGES_DEG:
            turns = np.linalg.norm(quaternions.log(motion.rotations[:, index]), axis=1)
            assert np.degrees(np.max(turns)) > 0.5 * RANGES_DEG[part], name


def test_it_is_smooth_and_no_faster_than_a_person(adult_character):
    motion = range_of_motion(adult_character, 2.0 * RATE_HZ)
    steps = quaternions.log(
        quaternions.multiply(quaternions.conjugate(motion.rotations[:-1]), motion.rotations[1:])
    )
    speeds = steps * 2.0 * RATE_HZ
    assert np.degrees(np.max(np.linalg.norm(speeds, axis=2))) < MAX_DEG_S
    # a jump in velocity would be as large as the velocity itself
    assert np.max(np.abs(np.diff(speeds, axis=0))) < 0.1 * np.max(np.abs(speeds))


def test_standing_foot_stays_while_the_other_leg_moves(adult_character):
    motion = range_of_motion(adult_character, RATE_HZ)
    soles = motion.end_effectors[:, 2:4]
    moved = np.linalg.norm(soles - soles[0], axis=2)
    assert np.max(np.min(moved, axis=1)) < 1e-9
    assert np.all(np.max(moved, axis=0) > 0.3)
