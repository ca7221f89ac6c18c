# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A comparison as plain data: puppet-comparison/1, described in doc/regression.md."""

from typing import Any

from puppet_replay.compare_result import Comparison, FieldResult, TopicResult
from puppet_replay.compare_statistics import Place
from puppet_replay.compare_units import UNITS

FORMAT = 'puppet-comparison/1'


def comparison_report(comparison: Comparison) -> dict[str, Any]:
    """Return the whole of it; what is no finite number becomes null in JSON."""
    worst = comparison.worst()
    return {
        'format': FORMAT,
        'a': comparison.paths[0],
        'b': comparison.paths[1],
        'within': comparison.within,
        'worst': None if worst is None else {'topic': worst.topic, 'field': worst.name},
        'origin': comparison.origin() or None,
        'start_ns': comparison.start_ns,
        'topics': [_topic(topic) for topic in comparison],
        'ignored': list(comparison.ignored),
        'warnings': list(comparison.warnings),
    }


def _topic(topic: TopicResult) -> dict[str, Any]:
    return {
        'topic': topic.topic,
        'type': topic.msgtype,
        'within': topic.within,
        'messages': {'a': topic.counts[0], 'b': topic.counts[1]},
        'rate_hz': {'a': topic.rates_hz[0], 'b': topic.rates_hz[1]},
        'longest_gap_s': {'a': topic.longest_gaps_s[0], 'b': topic.longest_gaps_s[1]},
        'fields': [_field(field) for field in topic.fields],
    }


def _field(field: FieldResult) -> dict[str, Any]:
    allowed = field.tolerance
    return {
        'field': field.name,
        'unit': UNITS[field.unit].text or field.unit,
        'within': field.within,
        'severity': field.severity,
        'n': field.n,
        'n_beyond': field.n_beyond,
        'max': field.peak,
        'p99': field.p99,
        'rms': field.rms,
        'allowed': {
            'max': allowed.peak, 'p99': allowed.p99, 'rms': allowed.rms,
            'mismatches': allowed.mismatches,
        },
        'first': _place(field.first),
        'worst': _place(field.worst),
        'note': field.note,
    }  # fmt: skip


def _place(place: Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {
        'stamp_ns': place.stamp_ns,
        'frame_index': place.frame_index,
        'component': place.component,
        'difference': place.amount,
    }
