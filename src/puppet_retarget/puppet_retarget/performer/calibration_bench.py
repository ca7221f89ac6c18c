# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How far functional calibrations are off the truth, and what they name, over many performers."""

from collections.abc import Iterator

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.character import Character
from puppet_retarget.performer.known_take import exchanged, make_take, RANGE_S, slipped, Take
from puppet_retarget.performer.sensor_layout import SensorLayout
from puppet_retarget.performer.verdict import SLIPPED, SWAPPED
from puppet_retarget.performer.virtual_sensors import Disturbances

SLIP_TIMES = (0.2, 0.85)  # as shares of the range of motion


def bench_lines(
    ordinary: Character, layout: SensorLayout, disturbances: Disturbances, trials: int
) -> Iterator[str]:
    """Yield the lines of the report; each takes a while."""
    takes = [make_take(ordinary, layout, disturbances, seed) for seed in range(trials)]
    outcomes = [take.calibrate() for take in takes]
    done = [(take, outcome.calibration) for take, outcome in zip(takes, outcomes)
            if outcome.calibration is not None]  # fmt: skip
    centres = 1e3 * np.array([take.centre_errors(found) for take, found in done])
    lengths = 1e3 * np.array([take.length_errors(found) for take, found in done])
    turns = np.concatenate([
        quaternion_batch.log(quaternion_batch.multiply(
            quaternion_batch.conjugate(found.rotations), take.mounting.rotations
        )) for take, found in done
    ])  # fmt: skip
    rms = np.degrees(np.sqrt(np.mean(np.sum(turns**2, axis=1))))
    yield f'performers: {trials}, each with {len(layout.sensors)} sensors put on at random'
    yield _spread('joint centres', centres)
    yield _spread('limb segments', lengths)
    yield f'sensors on their segments: {rms:.3g} deg RMS'
    wrong = sum(bool(outcome.verdict.findings) for outcome in outcomes)
    yield f'something named where all is well: {wrong} of {trials}'
    yield f'two sensors exchanged, named: {sum(map(_names_swap, takes))} of {trials}'
    yield f'one sensor slipped, named: {sum(map(_names_slip, takes))} of {trials}'


def _spread(what: str, errors_mm: np.ndarray) -> str:
    median, most = np.quantile(errors_mm, (0.5, 0.95))
    worst = np.max(errors_mm)
    return f'{what}: median {median:.3g} mm, 95 % {most:.3g} mm, worst {worst:.3g} mm'


def _names_swap(take: Take) -> bool:
    rng = np.random.default_rng(len(take.layout.sensors) + int(1e6 * take.skeleton.leg_length))
    names = rng.choice(take.layout.sensors, 2, replace=False).tolist()
    verdict = take.calibrate(exchanged(take.recording, take.layout, *names)).verdict
    return [set(finding.names) for finding in verdict.of_kind(SWAPPED)] == [set(names)]


def _names_slip(take: Take) -> bool:
    rng = np.random.default_rng(int(1e6 * take.skeleton.leg_length))
    name = str(rng.choice(take.layout.sensors))
    when_s = float(rng.uniform(*SLIP_TIMES)) * RANGE_S
    recording = slipped(take.recording, take.layout, name, when_s, int(rng.integers(1000)))
    verdict = take.calibrate(recording).verdict
    return [finding.names for finding in verdict.of_kind(SLIPPED)] == [(name,)]
