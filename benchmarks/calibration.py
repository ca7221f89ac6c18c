# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
`./puppet bench calibration`: performers of random proportions, calibrated by simulated sensors.

How far functional calibration is off the truth, and whether it names sensors that were exchanged
or that slipped.
"""

import argparse
from collections.abc import Iterator, Sequence
import sys

from benchmarks import synthetic_recording as synthetic
from benchmarks.command import bench_command, bench_parser
import numpy as np
from puppet_core import named_files
from puppet_core.body import Character
from puppet_core.io import ConfigError
from puppet_core.math import Floats
from puppet_performer.calibration import Calibration, SLIPPED, SWAPPED
from puppet_performer.sensor_layout import load_layout, SensorLayout
from puppet_performer.synthetic_recording import off_the_truth
from puppet_retarget.offline import arguments as clip_arguments

MAX_TRIALS = 1000
MAX_POSE_DEG = 90.0
SORTS = {
    'upper arms and thighs': ('upper_arm', 'thigh'),
    'forearms and shanks': ('forearm', 'shank'),
    'others': ('pelvis', 'spine', 'chest', 'head', 'hand', 'foot'),
}
EXAMPLE = 'example: ./puppet bench calibration --noise-mm 2 --noise-deg 0.5'
DESCRIPTION = 'Measure the calibration error for random performers.'
SLIP_TIMES = (0.2, 0.85)  # as fractions of the range of motion


def bench_lines(
    ordinary: Character,
    layout: SensorLayout,
    noise: synthetic.Disturbances,
    trials: int,
    pose_deg: float = 0.0,
) -> Iterator[str]:
    given = ordinary, layout, noise
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
    off = np.array(
        [off_the_truth(found.rotations, take.mounting.rotations) for take, found in done]
    )
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the bench's arguments."""
    add = parser.add_argument
    text = 'number of performers with random proportions; default %(default)s'
    add('--trials', type=int, default=20, metavar='N', help=text)
    text = 'whose proportions are varied; by name or path'
    add('--performer', default='performer', metavar='CHARACTER', help=text)
    add('--layout', default='default14', help='sensor layout, by name or path')
    add('--noise-mm', type=float, default=0.0, help='standard deviation of position noise [mm]')
    add(
        '--noise-deg',
        type=float,
        default=0.0,
        help='standard deviation of orientation noise [deg]',
    )
    add('--outliers', type=float, default=0.0, help='share of samples that are outliers')
    add('--skin-mm', type=float, default=0.0, help='soft-tissue motion [mm]')
    text = 'error of each segment in the T-pose, standard deviation per axis [deg]'
    add('--pose-deg', type=float, default=0.0, help=text)


def run(arguments: argparse.Namespace) -> str:
    """Measure and return the lines; raise PuppetError for bad input."""
    if not 1 <= arguments.trials <= MAX_TRIALS:
        raise ConfigError(f'--trials: expected 1 .. {MAX_TRIALS}, got {arguments.trials}')
    if not 0.0 <= arguments.pose_deg <= MAX_POSE_DEG:
        got = f'{arguments.pose_deg:g}'
        raise ConfigError(f'--pose-deg: expected 0 .. {MAX_POSE_DEG:g}, got {got}')
    performer = clip_arguments.find_character(arguments.performer)
    layout = load_layout(named_files.layout_file(arguments.layout))
    options = 'noise_mm noise_deg outliers skin_mm'.split()
    noise = synthetic.Disturbances(*(getattr(arguments, name) for name in options))
    given = performer, layout, noise
    return '\n'.join(bench_lines(*given, arguments.trials, arguments.pose_deg))


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    return bench_parser('calibration', DESCRIPTION, EXAMPLE, add_arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code."""
    return bench_command(parser(), run, argv)


if __name__ == '__main__':
    sys.exit(main())
