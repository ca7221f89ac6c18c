# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The part of a calibration file that a range of motion adds: lengths, joints, findings."""

from typing import Any

import numpy as np
from puppet_core.errors import ConfigError
from puppet_core.io.text import brief
from puppet_core.io.yaml_file import Section
from puppet_core.skeleton import END_EFFECTORS, N_SEGMENTS, SEGMENT_INDEX, SEGMENTS, Skeleton
from puppet_retarget.performer.verdict import (
    Finding,
    JointReport,
    KINDS,
    LengthReport,
    Verdict,
)


def skeleton_tree(skeleton: Skeleton) -> dict[str, Any]:
    """Return a skeleton as plain values."""
    return {
        'joints_m': {SEGMENTS[i]: skeleton.offsets[i].tolist() for i in range(1, N_SEGMENTS)},
        'interaction_points_m': {
            name: point.tolist()
            for name, point in zip(END_EFFECTORS, skeleton.interaction_points)
        },
    }


def read_skeleton(source: Section) -> Skeleton:
    """
    Return the skeleton of a section.

    Raises
    ------
    InputFileError : naming what is missing or impossible.

    """
    joints, points = source.section('joints_m'), source.section('interaction_points_m')
    offsets = np.zeros((N_SEGMENTS, 3))
    for i in range(1, N_SEGMENTS):
        offsets[i] = joints.numbers(SEGMENTS[i], 3)
    ends = np.array([points.numbers(name, 3) for name in END_EFFECTORS])
    for section in (joints, points, source):
        section.finish()
    try:
        return Skeleton(offsets, ends)
    except ConfigError as err:
        raise source.error('joints_m', 'a body with arms and legs', str(err)) from err


def verdict_tree(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain values."""
    return {
        'usable': verdict.usable,
        'joints': [
            {
                'joint': SEGMENTS[joint.segment],
                'residual_m': joint.residual_m,
                'sd_m': joint.sd_m,
                'range_deg': list(joint.range_deg),
            }
            for joint in verdict.joints
        ],
        'lengths': [
            {'segment': SEGMENTS[s.segment], 'length_m': s.length_m, 'sd_m': s.sd_m}
            for s in verdict.lengths
        ],
        'findings': [
            {'kind': f.kind, 'names': list(f.names), 'text': f.text} for f in verdict.findings
        ],
    }


def read_verdict(source: Section) -> Verdict:
    """
    Return the verdict of a section.

    Raises
    ------
    InputFileError : naming what is missing or impossible.

    """
    source.raw('usable', True)  # follows from the rest
    verdict = Verdict(
        tuple(_read_joint(entry) for entry in source.sections('joints')),
        tuple(_read_length(entry) for entry in source.sections('lengths')),
        tuple(_read_finding(entry) for entry in source.sections('findings')),
    )
    source.finish()
    return verdict


def _read_joint(entry: Section) -> JointReport:
    first, second, third = entry.numbers('range_deg', 3).tolist()
    joint = JointReport(
        SEGMENT_INDEX[entry.text('joint', choices=SEGMENTS)],
        entry.number('residual_m', low=0.0),
        entry.number('sd_m', low=0.0),
        (first, second, third),
    )
    entry.finish()
    return joint


def _read_length(entry: Section) -> LengthReport:
    segment = SEGMENT_INDEX[entry.text('segment', choices=SEGMENTS)]
    length = LengthReport(
        segment, entry.number('length_m', above=0.0), entry.number('sd_m', low=0.0)
    )
    entry.finish()
    return length


def _read_finding(entry: Section) -> Finding:
    names = entry.raw('names', [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise entry.error('names', 'a list of names', brief(names))
    finding = Finding(entry.text('kind', choices=KINDS), tuple(names), entry.text('text'))
    entry.finish()
    return finding
