# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The driver without ROS: from its config to a reader of frames, and what diagnostics report."""

from collections.abc import Callable
from dataclasses import asdict
import time
from typing import Any, NamedTuple

import numpy as np
from puppet_driver.devices.line import Line, LineState, LineStatus, RetryPolicy
from puppet_driver.frames import FrameAssembler, LineReader, RawFrame
from puppet_driver.parameters import DriverConfig

RATE_TOLERANCE = 0.02  # between the configured and the fitted rate
ROUGH_TOLERANCE = 0.1  # and that of arrivals without a fit


def make_reader(
    config: DriverConfig,
    on_frame: Callable[[RawFrame], None],
    log: Callable[[bool, str], None],
    clock_ns: Callable[[], int] = time.time_ns,
) -> LineReader:
    """Return a reader to be started; its thread calls `on_frame` and `log(is_error, sentence)`."""
    retry_policy = RetryPolicy(config.silence_timeout_s, config.retry_first_s, config.retry_last_s)
    lines = [
        Line(name, tracker, retry_policy, log)
        for name, tracker in zip(config.ports, config.trackers)
    ]
    assembler = FrameAssembler(
        config.sensors_per_line, config.rate_hz, config.frame_wait_s, config.device_latency_s
    )
    return LineReader(lines, assembler, on_frame, clock_ns)


class Report(NamedTuple):
    values: dict[str, Any]  # Further keys of the diagnostics
    drops: dict[str, int]  # What was dropped since the last poll, by reason
    errors: tuple[str, ...]  # Sentences: a line does not stream
    warnings: tuple[str, ...]  # Sentences: frames come, but not as they should


class Reporter:
    def __init__(self, config: DriverConfig) -> None:
        self.last_error = ''  # What went wrong last; while a line is down, what brought it down
        self._config = config
        self._is_down = False
        self._causes: dict[str, str] = {}
        self._totals: dict[str, int] = {}

    def record_error(self, text: str) -> None:
        """Remember what went wrong elsewhere; a line that is down is more important."""
        if not self._is_down:
            self.last_error = text

    def poll(self, reader: LineReader) -> Report:
        """Return what has changed and how things stand; to be called once a second or so."""
        values: dict[str, Any] = {}
        counters = reader.assembler.counters
        drops = {'stalled': self._since('stalled', reader.stalled_ticks)}
        values['incomplete_frames'] = counters.incomplete_frames
        values['missing_samples'] = counters.missing_rows
        values['late_records'] = counters.late_records
        values['stalls'] = reader.stalls
        statuses = [line.status for line in reader.lines]
        errors = self._lines(statuses, values)
        warnings = self._sensors(reader, statuses, values)
        n_incomplete = self._since('incomplete', counters.incomplete_frames)
        if n_incomplete and not errors and not warnings:
            warnings.append(f'{n_incomplete} incomplete frames in the last second')
        warnings += self._clock(reader, values)
        if reader.is_held_up:
            warnings.append('the last run has not ended: a port or a consumer holds it up')
        values['last_error'] = self.last_error
        return Report(values, drops, tuple(errors), tuple(warnings))

    def _since(self, name: str, total: int) -> int:
        before, self._totals[name] = self._totals.get(name, 0), total
        return total - before

    def _lines(self, statuses: list[LineStatus], values: dict[str, Any]) -> list[str]:
        """Log where the lines stand, and why one is down: the cause first."""
        errors = []
        for status in statuses:
            values[f'{status.port} state'] = status.state.value
            for name, count in asdict(status.counters).items():
                values[f'{status.port} {name}'] = count
            values[f'{status.port} starts'] = status.starts
            values[f'{status.port} last_error'] = status.cause
            values[f'{status.port} last_attempt'] = status.error
            values[f'{status.port} notes'] = '; '.join(status.notes)
            if status.cause != self._causes.get(status.port, '') and not self._is_down:
                self.last_error = status.cause
            self._causes[status.port] = status.cause
            if status.state is LineState.STREAMING:
                continue
            text = status.cause or f'{status.port}: {status.state.value}'
            if status.error != status.cause:
                text += f'; now {status.error.removeprefix(f"{status.port}: ")}'
            errors.append(text)
        if errors and not self._is_down:
            down = next(s for s in statuses if s.state is not LineState.STREAMING)
            self.last_error = down.cause or self.last_error
        self._is_down = any(s.state is not LineState.STREAMING and bool(s.cause) for s in statuses)
        return errors

    def _sensors(
        self, reader: LineReader, statuses: list[LineStatus], values: dict[str, Any]
    ) -> list[str]:
        """Log which sensors report and what their device reports of them."""
        assembler = reader.assembler
        lost: list[str] = []
        faulty: dict[str, list[str]] = {}
        has_frames = assembler.frame_index >= 0
        states, said = [], []
        for status, count in zip(statuses, self._config.sensors_per_line):
            states += [status.state] * count
            said += list(status.sensor_errors or ('',) * count)
        for row, name in enumerate(self._config.sensors):
            age_s = float(assembler.ages_s[row])
            is_known = has_frames and states[row] is LineState.STREAMING
            is_lost = is_known and age_s > self._config.silence_timeout_s
            state = f'missing for {age_s:.1f} s' if is_lost else 'ok' if is_known else 'unknown'
            values[f'sensor {name}'] = f'{state}; {said[row]}' if said[row] else state
            values[f'sensor {name} missing_samples'] = int(assembler.missing_by_row[row])
            if is_lost:
                lost.append(name)
            if said[row]:
                faulty.setdefault(said[row], []).append(name)
        warnings = [f'{", ".join(names)}: {text}' for text, names in faulty.items()]
        if lost:
            notes = [f'{s.port}: {n}' for s in statuses for n in s.notes]
            warnings = [f'no samples of {", ".join(lost)}', *notes, *warnings]
        return warnings

    def _clock(self, reader: LineReader, values: dict[str, Any]) -> list[str]:
        status = reader.assembler.clock.status
        values['device_rate_hz'] = status.rate_hz
        values['clock_drift_ppm'] = float(np.round(status.drift_ppm, 1))
        values['clock_jitter_ms'] = 1e3 * status.jitter_s
        values['clock_restarts'] = status.restarts
        values['clock_tracking'] = status.is_tracking
        warnings = []
        expected_hz, rate_hz = self._config.rate_hz, status.rate_hz
        tolerance = RATE_TOLERANCE if status.is_tracking else ROUGH_TOLERANCE
        if status.is_known and abs(rate_hz / expected_hz - 1.0) > tolerance:
            warnings.append(
                f'the device runs at {rate_hz:.1f} Hz, rate_hz says {expected_hz:g}; '
                'set rate_hz to the rate of the device'
            )
        if status.is_unsteady:
            warnings.append('the device keeps no steady time, so stamps are arrivals')
        return warnings
