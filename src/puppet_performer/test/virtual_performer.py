# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A virtual performer: any skeleton, sensors mounted at random, any posture, exact or noisy."""

from motion_samples import ADULT, LAYOUT, plain_frame
import numpy as np
from puppet_core.body import person
from puppet_core.body.posture import general_end_effectors, world_segments
from puppet_core.body.skeleton import N_SEGMENTS, SEGMENT_INDEX, Skeleton
from puppet_core.math import quaternions
from puppet_performer.calibration.pose import calibrate_pose, CalibrationLimits
from puppet_performer.calibration.recording import PoseRecorder
from puppet_performer.posture.estimator import PostureConfig, PostureEstimator

PERIOD_NS = 8_333_333  # 120 Hz
LIMITS = CalibrationLimits()
CONFIG_OF_POSTURE = PostureConfig()


class VirtualPerformer:
    def __init__(self, rng, character, layout, yaw, asymmetry_m=0.0):
        self.character = character
        self.layout = layout
        self.yaw = yaw
        n = len(layout.sensors)
        self.mount_q = quaternions.normalize(rng.normal(size=(n, 4)))
        self.mount_p = layout.mountings + _paired_offsets(rng, layout)
        self.mount_p = self.mount_p + rng.normal(size=(n, 3)) * asymmetry_m
        self.q_world_tracker = quaternions.normalize(rng.normal(size=4))
        self.p_world_tracker = rng.normal(size=3)
        self.place = np.append(rng.normal(size=2), character.skeleton.rest_root_height)
        self.frame_index = 0

    def t_pose(self):
        rotations = np.tile([1.0, 0.0, 0.0, 0.0], (N_SEGMENTS, 1))
        rotations[0] = [np.cos(0.5 * self.yaw), 0.0, 0.0, np.sin(0.5 * self.yaw)]
        return self.place, rotations

    def truth(self, root, rotations):
        """Return segments' orientations, joints and end-effectors in world."""
        skeleton = self.character.skeleton
        q, p = world_segments(skeleton, root[None], rotations[None])
        return q[0], p[0], general_end_effectors(skeleton, q, p)[0]

    def frame(self, root, rotations, noise=0.0, rng=None):
        """Return the next frame in the tracker's axes; noise is (metres, radians) RMS."""
        q, p, _ = self.truth(root, rotations)
        q, p = q[self.layout.segments], p[self.layout.segments]
        q_sensors = quaternions.multiply(q, self.mount_q)
        p_sensors = p + quaternions.rotate(q, self.mount_p)
        n = len(q)
        if rng is not None:
            p_sensors = p_sensors + rng.normal(size=(n, 3)) * noise[0]
            turn = quaternions.exp(rng.normal(size=(n, 3)) * noise[1])
            q_sensors = quaternions.multiply(q_sensors, turn)
        inverse = quaternions.conjugate(self.q_world_tracker)
        self.frame_index += 1
        return plain_frame(
            self.frame_index,
            self.layout.sensors,
            quaternions.rotate(inverse, p_sensors - self.p_world_tracker),
            quaternions.multiply(inverse, q_sensors),
            self.frame_index * PERIOD_NS,
        )

    def recorder(self, duration_s=0.2, max_stray_m=np.inf):
        return PoseRecorder(self.layout.sensors, duration_s, max_stray_m)

    def add(self, recorder, frame):
        recorder.add(frame, self.p_world_tracker, self.q_world_tracker)
        return recorder.is_full

    def calibrate(
        self, noise=0.0, rng=None, change=lambda frame: frame, limits=LIMITS, duration_s=0.2
    ):
        recorder = self.recorder(duration_s)
        while not self.add(recorder, change(self.frame(*self.t_pose(), noise, rng))):
            pass
        recording = recorder.poses()
        return calibrate_pose(recording, self.layout, self.character, limits, '2026-11-20')

    def estimator(self, calibration=None, config=CONFIG_OF_POSTURE):
        """Return an estimator, calibrated exactly where no calibration is given."""
        if calibration is None:
            calibration = self.calibrate()
        tracker = self.q_world_tracker, self.p_world_tracker
        return PostureEstimator(self.character.skeleton, calibration, *tracker, config)


def random_posture(rng, base, spread_rad=0.5):
    """Return a root and rotations that 14 sensors can tell: even spine, head on the chest."""
    rotations = quaternions.exp(rng.normal(size=(N_SEGMENTS, 3)) * spread_rad)
    rotations[SEGMENT_INDEX['chest']] = rotations[SEGMENT_INDEX['spine']]
    rotations[SEGMENT_INDEX['head']] = [1.0, 0.0, 0.0, 0.0]
    return base + rng.normal(size=3), rotations


def rotation_errors(a, b):
    """Return the angles between quaternions, whatever their signs [rad]."""
    product = quaternions.multiply(quaternions.conjugate(a), b)
    return np.linalg.norm(quaternions.log(product), axis=-1)


def _paired_offsets(rng, layout):
    """Return mounting differences: free for single sensors, mirrored and sideways for pairs."""
    offsets = rng.normal(size=(len(layout.sensors), 3)) * 0.03
    for left, right in layout.pairs:
        offsets[left, 0] = 0.0
        offsets[right] = offsets[left] * [1.0, -1.0, 1.0]
    return offsets


def random_character(rng, character):
    """Return a character with every length changed by up to a tenth."""
    skeleton = character.skeleton
    stretch = 1.0 + rng.uniform(-0.1, 0.1, size=3)
    varied = Skeleton(skeleton.offsets * stretch, skeleton.interaction_points * stretch)
    return person('random', varied)


def make_virtual(yaw=0.0, layout=LAYOUT, asymmetry_m=0.0, seed=1):
    return VirtualPerformer(np.random.default_rng(seed), ADULT, layout, yaw, asymmetry_m)
