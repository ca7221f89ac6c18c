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
        description='Root offset of importance_based before the root moves into reach of goals.',
        choices=ROOT_FORMS,
    )
    root_height_ratio: float = setting(
        0.0,
        '-',
        0.0,
        100.0,
        'Ratio of root heights, puppet to performer; 0: that of the character.',
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
    max_iterations: int = setting(100, '-', 0, 200, 'Iteration limit of the body minimiser.')
    torso_segments: int = setting(
        2, '-', 1, 2, 'Joints at which the body minimiser bends the torso; 2: spine and chest.'
    )
    errata: tuple[str, ...] = setting(
        (ALL,),
        description='Printed errors of Shin2002 that importance_based corrects; none or an empty '
        'list: no corrections.',
        choices=(ALL, NONE, *ERRATA),
        may_be_empty=True,
    )
    rate_k1: float = setting(
        1.0,
        '-',
        0.0,
        1.9,
        'K1 of ChoiKo2000: share of the hand and foot error that rate_control corrects in each '
        'frame.',
        low_open=True,
    )
    rate_k2: float = setting(
        1.0,
        '-',
        0.0,
        1.9,
        'K2 of ChoiKo2000: share of the imitation error that it corrects in each frame.',
        low_open=True,
    )
    rate_base: str = setting(
        'pelvis',
        description='Base segment of rate_control. pelvis: its position is imitated; another '
        'segment: the root follows from it; contact: the hand or foot in contact.',
        choices=RATE_BASES,
    )
    rate_estimate: str = setting(
        'auto',
        description='What rate_control uses to predict errors: nothing (eq. 10), the tasks (as '
        'printed), all rates, or the imitation; auto: the imitation if the pelvis is the base, '
        'else the tasks.',
        choices=RATE_ESTIMATES,
    )

    def __post_init__(self) -> None:
        for row in rows_of(type(self)):
            if row.choices:
                row.check(getattr(self, row.name))
