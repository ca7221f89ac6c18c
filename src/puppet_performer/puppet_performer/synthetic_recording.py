# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Synthetic recordings: a known motion, measured by sensors with chosen faults."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from puppet_core.body import Motion, N_SEGMENTS, PARENTS
from puppet_core.io import ConfigError
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_performer.calibration import Calibration, MotionRecording
from puppet_performer.sensor_layout import SensorLayout

OUTLIER_M = 0.3  # size of a wild position


@dataclass(frozen=True, slots=True)
class Disturbances:
    """How a measurement differs from the truth; nothing by default."""

    noise_mm: float = 0.0  # White noise of positions, standard deviation per axis [mm]
    noise_deg: float = 0.0  # White noise of rotations, standard deviation per axis [deg]
    outliers: float = 0.0  # Fraction of the samples that are wild
    # Movement of a sensor on its segment at the largest angle of its joint [mm]
    skin_mm: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            high = 0.5 if name == 'outliers' else 1e3
            if not 0.0 <= value < high:
                raise ConfigError(f'{name}: expected 0.0 <= value < {high:g}, got {value}')


class Mounting(NamedTuple):
    positions: Vec3s  # Shape (n, 3) [m]
    rotations: Quats  # Shape (n, 4)


def random_mounting(layout: SensorLayout, seed: int, spread_m: float = 0.015) -> Mounting:
    """Return sensors near the layout's places, turned at random."""
    rng = np.random.default_rng(seed)
    n = len(layout.sensors)
    return Mounting(
        layout.mountings + rng.normal(0.0, spread_m, (n, 3)),
        # a normal 4-vector's direction is uniform over rotations
        quaternions.normalize(rng.normal(size=(n, 4))),
    )


def measure(
    motion: Motion, layout: SensorLayout, mounting: Mounting, disturbances: Disturbances, seed: int
) -> MotionRecording:
    rng = np.random.default_rng(seed)
    q_world, p_world = motion.world_segments()
    q, p = q_world[:, layout.segments], p_world[:, layout.segments]
    places = mounting.positions + _skin(motion, layout, disturbances.skin_mm, rng)
    positions = p + quaternions.rotate(q, places)
    positions += rng.normal(size=positions.shape) * 1e-3 * disturbances.noise_mm
    turned = rng.normal(size=positions.shape) * np.radians(disturbances.noise_deg)
    rotations = quaternions.multiply(
        quaternions.multiply(q, mounting.rotations), quaternions.exp(turned)
    )
    wild = rng.random(positions.shape[:2]) < disturbances.outliers
    n_wild = int(np.sum(wild))
    positions[wild] += rng.normal(size=(n_wild, 3)) * OUTLIER_M
    rotations[wild] = quaternions.normalize(rng.normal(size=(n_wild, 4)))
    usable = np.ones(wild.shape, dtype=bool)
    return MotionRecording(positions, rotations, usable, motion.rate_hz)


def _skin(
    motion: Motion, layout: SensorLayout, skin_mm: float, rng: np.random.Generator
) -> Floats:
    """Return how far each sensor has moved on its segment, shape (frames, n, 3) [m]."""
    directions = rng.normal(size=(len(layout.sensors), 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    angles = np.linalg.norm(quaternions.log(motion.rotations[:, layout.segments]), axis=2)
    shares = angles / np.maximum(angles.max(axis=0), 1e-9)
    return 1e-3 * skin_mm * shares[..., None] * directions


RATE_HZ = 60.0
T_POSE_S = 2.0
FADE_S = 1.0  # in which the errors of a pose go when the motion begins


def posed_badly(motion: Motion, pose_s: float, off: Vec3s) -> Motion:
    """
    Return a motion in whose opening T-pose of `pose_s` seconds the segments are turned.

    The errors `off` (16, 3) are rotation vectors in the world [rad] and fade in FADE_S after it.
    """
    t = np.arange(motion.n_frames) / motion.rate_hz - pose_s
    share = np.clip(1.0 - t / FADE_S, 0.0, 1.0)
    world, _ = motion.world_segments()
    world = quaternions.multiply(world, quaternions.exp(share[:, None, None] * off))
    rotations = world.copy()
    rotations[:, 1:] = quaternions.multiply(
        quaternions.conjugate(world[:, PARENTS[1:]]), world[:, 1:]
    )
    return Motion.from_rotations(motion.skeleton, motion.rate_hz, motion.root_positions, rotations)


def off_the_truth(found: Quats, true: Quats) -> Vec3s:
    """Return the rotation vectors from orientations that were found to the true ones [rad]."""
    return quaternions.log(quaternions.multiply(quaternions.conjugate(found), true))


class RecordedClip(NamedTuple):
    motion: Motion  # what was done, by whom
    mounting: Mounting  # how the sensors sit
    recording: MotionRecording  # what they measured

    def compare(self, calibration: Calibration) -> str:
        off = off_the_truth(calibration.rotations, self.mounting.rotations)
        turned = np.degrees(np.linalg.norm(off, axis=1))
        line = f'off the truth: sensors turned by {np.sqrt(np.mean(turned**2)):.2f} deg RMS'
        if calibration.skeleton is not None:
            true = self.motion.skeleton.limb_lengths
            worst = np.max(np.abs(calibration.skeleton.limb_lengths - true))
            line += f', limb segments by at most {1e3 * worst:.1f} mm'
        return line


def record_clip(
    motion: Motion,
    layout: SensorLayout,
    disturbances: Disturbances,
    seed: int,
    pose_deg: float = 0.0,
) -> RecordedClip:
    """Return what sensors measure of a motion whose T-pose is off by `pose_deg` per axis [deg]."""
    off = np.radians(pose_deg) * np.random.default_rng(seed + 2).normal(size=(N_SEGMENTS, 3))
    motion = posed_badly(motion, T_POSE_S, off)
    mounting = random_mounting(layout, seed)
    recording = measure(motion, layout, mounting, disturbances, seed + 1)
    return RecordedClip(motion, mounting, recording)
