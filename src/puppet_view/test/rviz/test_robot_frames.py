# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The retarget model of a robot: its own joint names, its URDF, the posture that it takes."""

from pathlib import Path

from body_fixtures import floor_only
import numpy as np
from puppet_core.body.continuous_euler import JOINT_NAMES
from puppet_core.body.posture import Posture
from puppet_core.robots.joints import follow_segments, reach, read_posture
from puppet_core.robots.limbs import RobotMap
from puppet_core.robots.robot_character import character_from_urdf
from puppet_retarget.importance.estimator import ImportanceConfig
from puppet_retarget.importance.importance_model import ImportanceModel
from puppet_retarget.importance.self_interaction import SelfInteractionConfig
from puppet_retarget.parameters import RetargetConfig
from puppet_retarget.retarget_model import RetargetModel
import pytest

HUMANOID = Path(__file__).resolve().parents[3] / 'puppet_core' / 'test' / 'humanoid.urdf'
TICK_NS = 8_333_333


@pytest.fixture(scope='module')
def tin():
    return character_from_urdf(HUMANOID, RobotMap()).character


def test_frames_of_a_robot_have_its_joints_and_its_posture(tin, adult_character, stepping_motion):
    assert tin.robot is not None
    motion, config = stepping_motion, RetargetConfig()
    model = RetargetModel(tin, floor_only(), config)
    assert model.joint_names == tin.robot.names
    near = ImportanceModel(floor_only(), ImportanceConfig(), SelfInteractionConfig())
    segments, velocities = motion.world_segments()[1], motion.end_effector_velocities()
    last = None
    for i in range(30):
        root, rotations = motion.root_positions[i].copy(), motion.rotations[i].copy()
        ends = motion.end_effectors[i].copy()
        posture = Posture(root, rotations, ends, velocities[i].copy())
        rows, self_rows = near.step(i * TICK_NS, posture, segments[i])
        frame = model.step(
            i * TICK_NS,
            root,
            segments[i].copy(),
            rotations,
            rows.copy(),
            self_rows.copy(),
            motion.skeleton.leg_length,
        )
        assert frame is not None
        assert np.all(tin.robot.lower <= frame.angles) and np.all(frame.angles <= tin.robot.upper)
        # a waist with three joints and all its room: the spine turns with the chest
        np.testing.assert_allclose(frame.solution.rotations[1], [1.0, 0.0, 0.0, 0.0], atol=1e-9)
        if i == 20:
            model.configure(tin, config)  # a slider: the angles go on
        if last is not None:
            # arms in a T-pose are near the lock of pitch, roll and yaw
            assert np.abs(frame.angles - last).max() < 0.5
        last = frame.angles.copy()
    for compiled in (follow_segments, reach, read_posture):
        assert len(compiled.signatures) == 1  # nothing compiles again in a live run
    model.configure(adult_character, config)
    assert model.joint_names == JOINT_NAMES
