# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""How far functional calibrations are off the truth, and what they name, over many performers."""

from collections.abc import Iterator, Sequence

import numpy as np
from puppet_core import quaternion_batch
from puppet_core.arrays import Floats
from puppet_core.character import Character
from puppet_retarget.offline.known_take import exchanged, make_take, RANGE_S, slipped, Take
from puppet_retarget.performer.calibration import Calibration
from puppet_retarget.performer.sensor_layout import SensorLayout
from puppet_retarget.performer.verdict import SLIPPED, SWAPPED
from puppet_retarget.performer.virtual_sensors import Disturbances

SORTS = {
    'upper arms and thighs': ('upper_arm', 'thigh'),
    'forearms and shanks': ('forearm', 'shank'),
    'others': ('pelvis', 'spine', 'chest', 'head', 'hand', 'foot'),
}
SLIP_TIMES = (0.2, 0.85)  # as shares of the range of motion


def bench_lines(
    ordinary: Character, layout: SensorLayout, disturbances: Disturbances, trials: int,
    pose_deg: float = 0.0,
) -> Iterator[str]:  # fmt: skip
    """Yield the lines of the report; each takes a while."""
    takes = [make_take(ordinary, layout, disturbances, seed, pose_deg=pose_deg)
             for seed in range(trials)]  # fmt: skip
    outcomes = [take.calibrate() for take in takes]
    yield f'performers: {trials}, each with {len(layout.sensors)} sensors put on at random'
    done = [(take, outcome.calibration) for take, outcome in zip(takes, outcomes)
            if outcome.calibration is not None]  # fmt: skip
    if done:
        yield _spread('joint centres', [take.centre_errors(found) for take, found in done])
        if len(outcomes[0].verdict.lengths):
            yield _spread('limb segments', [take.length_errors(found) for take, found in done])
        yield _turned(layout, done)
    refused = [outcome.verdict for outcome in outcomes if not outcome.verdict.usable]
    found = {finding.kind for verdict in refused for finding in verdict.findings}
    kinds = ', '.join(sorted(found))
    yield (f'should not be used though all is well: {len(refused)} of {trials}'
           + f' ({kinds})' * bool(refused))  # fmt: skip
    yield f'two sensors exchanged, named: {sum(map(_names_swap, takes))} of {trials}'
    yield f'one sensor slipped, named: {sum(map(_names_slip, takes))} of {trials}'


def _turned(layout: SensorLayout, done: Sequence[tuple[Take, Calibration]]) -> str:
    """Return how far the sensors are turned on their segments, of several sorts of them."""
    off = quaternion_batch.log(np.array([
        quaternion_batch.multiply(
            quaternion_batch.conjugate(found.rotations), take.mounting.rotations
        ) for take, found in done
    ]))  # fmt: skip
    squares = np.degrees(1.0) ** 2 * np.sum(off**2, axis=2).mean(axis=0)
    parts = []
    for what, names in SORTS.items():
        kept = [row for row, name in enumerate(layout.segment_names)
                if name.split('_', 1)[-1] in names]  # fmt: skip
        if kept:
            parts.append(f'{what} {np.sqrt(np.mean(squares[kept])):.3g}')
    return (f'sensors on their segments: {np.sqrt(np.mean(squares)):.3g} deg RMS; '
            + ', '.join(parts))  # fmt: skip


def _spread(what: str, errors_m: Sequence[Floats]) -> str:
    errors_mm = 1e3 * np.array(errors_m)
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
