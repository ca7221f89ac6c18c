# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The thesis as printed, on the bench: its solver without corrections behind a printed importance.

`as_printed+turn_axis+smoothing` has two errata corrected, by the names of the solver's parameter
`errata` and those of chapter 4 that a parameter can take away: `smoothing` in time (errata 12) and
`margin`, within which things touch (errata 13). The clamped distance (errata 1) stays, and so does
what the importance takes for the distance from a segment: that from its surface.
"""

from dataclasses import replace

from puppet_core.io import ConfigError
from puppet_retarget.offline import RetargetJob
from puppet_retarget.solvers import ERRATA

AS_PRINTED = 'as_printed'
SMOOTHING, MARGIN = 'smoothing', 'margin'
CORRECTIONS = (*ERRATA, SMOOTHING, MARGIN)
PREDICTION_S = 0.15  # lambda of fig. 4.3


def is_as_printed(name: str) -> bool:
    """Return whether a name stands for the thesis as printed."""
    return name.partition('+')[0] == AS_PRINTED


def printed_job(name: str, job: RetargetJob) -> RetargetJob:
    """
    Return a job as printed but for the corrections that a name lists.

    Raises
    ------
    ConfigError : for one that is not known.

    """
    corrections = name.split('+')[1:]
    if not set(corrections) <= set(CORRECTIONS):
        known = ', '.join(CORRECTIONS)
        raise ConfigError(f'--peers: expected errata of {known} after {AS_PRINTED}, got {name!r}')
    outer = {'prediction_s': PREDICTION_S}
    own = {'prediction_s': PREDICTION_S}
    if SMOOTHING not in corrections:
        outer['smoothing_s'] = own['smoothing_s'] = 0.0
    if MARGIN not in corrections:
        outer['contact_margin_m'] = 0.0
        own |= {f'{part}_margin_m': 0.0 for part in ('hand', 'elbow', 'foot')}
    errata = tuple(name for name in corrections if name in ERRATA)
    return replace(
        job,
        solver='importance_based',
        importance=replace(job.importance, **outer),
        self_interaction=replace(job.self_interaction, **own),
        tuning=replace(job.tuning, errata=errata),
    )
