# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Calibration of a performer that is a clip, by simulated sensors, and the errors of the result.

The sensors are mounted at random, so their measurements contain nothing of the truth. The
benchmark repeats this for many performers: how far functional calibration is off the truth, and
whether it names sensors that were swapped or that slipped.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from puppet_core.body import Character, Motion, N_SEGMENTS
from puppet_core.math import Floats, quaternions, Quats, Vec3s
from puppet_performer import synthetic_recording as synthetic
from puppet_performer.calibration import Calibration, MotionRecording, SLIPPED, SWAPPED
from puppet_performer.sensor_layout import SensorLayout

T_POSE_S = 2.0

SORTS = {
    'upper arms and thighs': ('upper_arm', 'thigh'),
    'forearms and shanks': ('forearm', 'shank'),
    'others': ('pelvis', 'spine', 'chest', 'head', 'hand', 'foot'),
}
SLIP_TIMES = (0.2, 0.85)  # as fractions of the range of motion


def _off(found: Quats, true: Quats) -> Vec3s:
    """Return the rotation vectors from orientations that were found to the true ones [rad]."""
    return quaternions.log(quaternions.multiply(quaternions.conjugate(found), true))


class RecordedClip(NamedTuple):
    """A recording whose truth is known."""

    motion: Motion  # what was done, by whom
    mounting: synthetic.Mounting  # how the sensors sit
    recording: MotionRecording  # what they measured

    def compare(self, calibration: Calibration) -> str:
        """Return one line on how far a calibration is from the truth."""
        off = _off(calibration.rotations, self.mounting.rotations)
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
    disturbances: synthetic.Disturbances,
    seed: int,
    pose_deg: float = 0.0,
) -> RecordedClip:
    """
    Return what the sensors of a layout measure of a motion that begins with a T-pose.

    The seed is of mounting, disturbances and pose; `pose_deg` is how far each segment is turned
    from the T-pose, standard deviation per axis [deg].
    """
    off = np.radians(pose_deg) * np.random.default_rng(seed + 2).normal(size=(N_SEGMENTS, 3))
    motion = synthetic.posed_badly(motion, T_POSE_S, off)
    mounting = synthetic.random_mounting(layout, seed)
    recording = synthetic.measure(motion, layout, mounting, disturbances, seed + 1)
    return RecordedClip(motion, mounting, recording)


def bench_lines(
    ordinary: Character,
    layout: SensorLayout,
    disturbances: synthetic.Disturbances,
    trials: int,
    pose_deg: float = 0.0,
) -> Iterator[str]:
    given = ordinary, layout, disturbances
    takes = [synthetic.make_recording(*given, seed, pose_deg=pose_deg) for seed in range(trials)]
    outcomes = [take.calibrate() for take in takes]
    yield f'performers: {trials}, each with {len(layout.sensors)} sensors put on at random'
    done = [(take, found.calibration) for take, found in zip(takes, outcomes) if found.calibration]
    if done:
        yield _spread('joint centres', [take.centre_errors(found) for take, found in done])
        if len(outcomes[0].evaluation.lengths):
            yield _spread('limb segments', [take.length_errors(found) for take, found in done])
        yield _turned(layout, done)
    refused = [outcome.evaluation for outcome in outcomes if not outcome.evaluation.usable]
    found = {finding.kind for evaluation in refused for finding in evaluation.findings}
    kinds = ', '.join(sorted(found))
    yield (
        f'should not be used though all is well: {len(refused)} of {trials}'
        + f' ({kinds})' * bool(refused)
    )
    yield f'two sensors exchanged, named: {sum(map(_names_swap, takes))} of {trials}'
    yield f'one sensor slipped, named: {sum(map(_names_slip, takes))} of {trials}'


def _turned(
    layout: SensorLayout, done: Sequence[tuple[synthetic.SyntheticRecording, Calibration]]
) -> str:
    """Return how far the sensors are turned on their segments, of several sorts of them."""
    off = np.array([_off(found.rotations, take.mounting.rotations) for take, found in done])
    squares = np.degrees(1.0) ** 2 * np.sum(off**2, axis=2).mean(axis=0)
    parts = []
    for what, names in SORTS.items():
        kept = [name.split('_', 1)[-1] in names for name in layout.segment_names]
        if any(kept):
            parts.append(f'{what} {np.sqrt(np.mean(squares[kept])):.3g}')
    all_of_them = np.sqrt(np.mean(squares))
    return f'sensors on their segments: {all_of_them:.3g} deg RMS; {", ".join(parts)}'


def _spread(what: str, errors_m: Sequence[Floats]) -> str:
    errors_mm = 1e3 * np.array(errors_m)
    median, most = np.quantile(errors_mm, (0.5, 0.95))
    worst = np.max(errors_mm)
    return f'{what}: median {median:.3g} mm, 95 % {most:.3g} mm, worst {worst:.3g} mm'


def _names_swap(take: synthetic.SyntheticRecording) -> bool:
    rng = np.random.default_rng(len(take.layout.sensors) + int(1e6 * take.skeleton.leg_length))
    names = rng.choice(take.layout.sensors, 2, replace=False).tolist()
    evaluation = take.calibrate(
        synthetic.exchanged(take.recording, take.layout, *names)
    ).evaluation
    return [set(finding.names) for finding in evaluation.of_kind(SWAPPED)] == [set(names)]


def _names_slip(take: synthetic.SyntheticRecording) -> bool:
    rng = np.random.default_rng(int(1e6 * take.skeleton.leg_length))
    name = str(rng.choice(take.layout.sensors))
    when_s = float(rng.uniform(*SLIP_TIMES)) * synthetic.RANGE_S
    recording = synthetic.slipped(
        take.recording, take.layout, name, when_s, int(rng.integers(1000))
    )
    evaluation = take.calibrate(recording).evaluation
    return [finding.names for finding in evaluation.of_kind(SLIPPED)] == [(name,)]
