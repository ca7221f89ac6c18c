# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What diagnostics tell of a running reader: values, what is wrong, and what is doubtful."""

from typing import Any, NamedTuple

import numpy as np
from puppet_driver.line_reader import LineReader
from puppet_driver.link import LineState
from puppet_driver.parameters import DriverConfig

RATE_TOLERANCE = 0.02  # between the configured and the fitted rate


class Report(NamedTuple):
    """One look at a reader."""

    values: dict[str, Any]
    """Further keys of the diagnostics."""

    drops: dict[str, int]
    """What was dropped since the last look, by reason."""

    errors: tuple[str, ...]
    """Sentences: a line does not stream."""

    warnings: tuple[str, ...]
    """Sentences: frames come, but not as they should."""


class Reporter:
    """Looks at a reader again and again."""

    def __init__(self, config: DriverConfig) -> None:
        self._config = config
        self._totals: dict[str, int] = {}

    def look(self, reader: LineReader) -> Report:
        """Return what has changed and how things stand; to be called once a second or so."""
        values: dict[str, Any] = {}
        errors, warnings = [], []
        counters = reader.assembler.counters
        totals = {
            'incomplete': counters.incomplete_frames,
            'queue_full': reader.queue.dropped,
            'stalled': reader.stalls,
        }
        drops = {name: n - self._totals.get(name, 0) for name, n in totals.items()}
        self._totals = totals
        values['missing_samples'] = counters.missing_rows
        values['late_records'] = counters.late_records
        values['stalls'] = reader.stalls
        values['queue_deepest'] = reader.queue.deepest
        values['queue_dropped'] = reader.queue.dropped
        reader.queue.deepest = 0
        for line in reader.lines:
            status = line.status
            values[f'{status.port} state'] = status.state.value
            for name, count in status.counters._asdict().items():
                values[f'{status.port} {name}'] = count
            values[f'{status.port} starts'] = status.starts
            values[f'{status.port} last_error'] = status.error
            values[f'{status.port} notes'] = '; '.join(status.notes)
            if status.state is not LineState.STREAMING:
                errors.append(status.error or f'{status.port}: {status.state.value}')
        warnings += self._sensors(reader, values)
        warnings += self._clock(reader, values)
        return Report(values, drops, tuple(errors), tuple(warnings))

    def _sensors(self, reader: LineReader, values: dict[str, Any]) -> list[str]:
        """Tell which sensors report; the reasons are in the notes of their lines."""
        assembler = reader.assembler
        lost = []
        has_frames = assembler.frame_index >= 0
        states = np.repeat([line.state for line in reader.lines], self._config.sensors_per_line)
        for row, name in enumerate(self._config.sensors):
            age_s = float(assembler.ages_s[row])
            is_known = has_frames and states[row] is LineState.STREAMING
            is_lost = is_known and age_s > self._config.silence_timeout_s
            state = f'missing for {age_s:.1f} s' if is_lost else 'ok' if is_known else 'unknown'
            values[f'sensor {name}'] = state
            values[f'sensor {name} missing_samples'] = int(assembler.missing_by_row[row])
            if is_lost:
                lost.append(name)
        notes = [f'{s.port}: {n}' for s in (x.status for x in reader.lines) for n in s.notes]
        if not lost:
            return []
        return [f'no samples of {", ".join(lost)}', *notes]

    def _clock(self, reader: LineReader, values: dict[str, Any]) -> list[str]:
        status = reader.assembler.clock.status
        values['device_rate_hz'] = status.rate_hz
        values['clock_drift_ppm'] = float(np.round(status.drift_ppm, 1))
        values['clock_jitter_ms'] = 1e3 * status.jitter_s
        values['clock_restarts'] = status.restarts
        values['clock_tracking'] = status.is_tracking
        expected_hz = self._config.rate_hz
        if status.is_tracking and abs(status.rate_hz / expected_hz - 1.0) > RATE_TOLERANCE:
            return [f'rate_hz: expected {expected_hz:g}, the device sends {status.rate_hz:.1f} Hz']
        return []
