# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Tuning of all solvers, as nodes and commands offer it."""

from dataclasses import dataclass

from puppet_core.body import SEGMENTS
from puppet_core.io import rows_of, setting
from puppet_retarget.solvers.thesis.errata import ALL, ERRATA, NONE

ROOT_FORMS = ('projection', 'mean', 'reference')
RATE_BASES = (*SEGMENTS, 'contact')
RATE_ESTIMATES = ('nothing', 'tasks', 'all_rates', 'imitation', 'auto')  # by RateConfig.estimate


@dataclass(frozen=True, slots=True)
class SolverConfig:
    """Tuning of the solvers; see the parameter table for ranges."""

    root_form: str = setting(
        'projection',
        description='Offset of importance_based, before its root goes into reach of the goals.',
        choices=ROOT_FORMS,
    )
    root_height_ratio: float = setting(
        0.0,
        '-',
        0.0,
        100.0,
        "Reference root height over the performer's; 0 is the character's own.",
    )
    posture_weight: float = setting(
        0.01, '-', 0.0, 100.0, 'alpha of Shin2002 eq. 5.3.', low_open=True
    )
    orientation_weight: float = setting(
        1.0, '-', 0.0, 100.0, 'beta of Shin2002 eq. 5.5.', low_open=True
    )
    position_weight: float = setting(
        1.0, '-', 0.0, 100.0, 'gamma of Shin2002 eq. 5.5.', low_open=True
    )
    max_iterations: int = setting(100, '-', 0, 200, 'Cap of the body minimiser.')
    torso_segments: int = setting(
        2, '-', 1, 2, 'Parts that the body minimiser bends the torso in: 2 are spine and chest.'
    )
    errata: tuple[str, ...] = setting(
        (ALL,),
        description='Printed errors of Shin2002 that importance_based corrects; none, or an empty '
        'list: as printed.',
        choices=(ALL, NONE, *ERRATA),
        may_be_empty=True,
    )
    rate_k1: float = setting(
        1.0,
        '-',
        0.0,
        1.9,
        'K1 of ChoiKo2000: share of the error of hands and feet that a frame of rate_control '
        'takes up.',
        low_open=True,
    )
    rate_k2: float = setting(
        1.0,
        '-',
        0.0,
        1.9,
        'K2 of ChoiKo2000: share of what is to be imitated that a frame takes up.',
        low_open=True,
    )
    rate_base: str = setting(
        'pelvis',
        description='Segment that rate_control hangs the body on: the pelvis, whose place is then '
        'imitated, another, from which the root follows, or of hands and feet the one in contact.',
        choices=RATE_BASES,
    )
    rate_estimate: str = setting(
        'auto',
        description='What rate_control tries out to foresee its errors: nothing (eq. 10), the '
        'tasks (as printed), all rates or the imitation; auto: the imitation with the pelvis as '
        'base, else the tasks.',
        choices=RATE_ESTIMATES,
    )

    def __post_init__(self) -> None:
        for row in rows_of(type(self)):
            if row.choices:
                row.check(getattr(self, row.name))
