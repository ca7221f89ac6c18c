# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A wish of your own for the whole-body solver: hands follow the performer's all the time.

    python own_solver.py [CLIP] [CHARACTER]

It prints how far the hands are from the performer's (in the puppet's scale), without and with the
wish. The solver's row sources are compiled into one program, so none is added from outside; but
the importance and goals that they read come frame by frame, and a solver around it changes them.
"""

import sys
from typing import Any

import numpy as np
import puppet
from puppet_retarget.importance import GOAL, IMPORTANCE
from puppet_retarget.solvers import make_solver, Solver, SolverConfig, SolverOutput

HANDS = slice(0, 2)  # then left foot, right foot, elbows, knees


class HandsFirst:
    """Gives the hands full importance and the performer's palms as goals."""

    name = 'hands_first'

    def __init__(self, inner: Solver, palms: np.ndarray) -> None:
        self.inner, self.palms, self.frame = inner, palms, 0

    def solve(
        self, root: Any, hips: Any, rotations: Any, rows: Any, dt: float, *others: Any
    ) -> SolverOutput:
        self.frame = self.frame + 1 if np.isfinite(dt) else 0  # infinite: a new beginning
        rows = rows.copy()
        rows[HANDS, IMPORTANCE] = 1.0
        rows[HANDS, GOAL : GOAL + 3] = self.palms[self.frame]  # in the performer's world
        return self.inner.solve(root, hips, rotations, rows, dt, *others)

    def repose(self, rows: Any) -> None:
        self.inner.repose(rows)


def main(clip: str = 'walk', name: str = 'sally') -> None:
    motion, character = puppet.load_clip(clip), puppet.load_character(name)
    leg, floor = motion.skeleton.leg_length, puppet.load_environment('floor')
    inner = make_solver('whole_body', character, floor, leg, SolverConfig())
    palms = motion.end_effectors[:, HANDS]
    own = HandsFirst(inner, palms)
    for solver in ('whole_body', own):
        found = puppet.retarget(motion, character, floor, solver)
        away = found.motion.end_effectors[:, HANDS] - character.scale_for(leg) * palms
        away_mm = 1000.0 * np.linalg.norm(away, axis=-1)
        print(f'{found.job.solver}: hands {np.median(away_mm):.1f} mm away in the median')


if __name__ == '__main__':
    main(*sys.argv[1:3])
