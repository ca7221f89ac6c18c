# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Figures 4.3, 7.2, 7.3 and 7.6 of Shin2002, drawn from our own runs."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from benchmarks.line_chart import Line, line_chart
from benchmarks.quality.procedural_self_contact import self_contact_motion, SELF_CONTACTS
import numpy as np
from puppet_core.body import Character, default_capsules, Motion
from puppet_core.drawing import BLUE, DARK, GREY, Picture, RED
from puppet_core.math import Floats
from puppet_retarget.importance import (
    Environment,
    IMPORTANCE,
    ImportanceConfig,
    SelfInteractionConfig,
)
from puppet_retarget.offline import retarget_motion, RetargetJob, RetargetResult
from puppet_retarget.solvers import SolverConfig
from puppet_view.render import Actor, Body, even_instants, render_strip, StripRow, View

PREDICTIONS_S = (0.0, 0.15)  # of fig. 4.3
WALK_SOLVERS = ('joint_angles', 'position', 'importance_based')  # rows of figs. 7.2 and 7.3
N_INSTANTS = 6
CELL_PX = (330, 370)
CONTACT_CELL_PX = (400, 420)
WALK_AZIMUTH_DEG, CONTACT_AZIMUTH_DEG = 75.0, -35.0
CONTACT_SHARE = 0.5  # of a motion with self-interaction: the palms touch
CONTACT_TITLES = {'smoke': 'smoking', 'waist': 'hands on waist', 'clap': 'clapping'}
_LEFT_FOOT, _RIGHT_FOOT = 2, 3


@dataclass(frozen=True, slots=True)
class Cast:
    """Who is in the figures and where."""

    performer: Character  # Colours of the performer; the shape follows the motion's skeleton
    sally: Character  # The puppet with long limbs
    blubby: Character  # The puppet with short limbs
    environment: Environment  # Solids around them
    importance: ImportanceConfig = ImportanceConfig()  # Tuning of the importance
    tuning: SolverConfig = SolverConfig()  # Tuning of the solver
    # Tuning of the self-interaction
    self_interaction: SelfInteractionConfig = SelfInteractionConfig()

    def run(self, motion: Motion, character: Character, solver: str) -> RetargetResult:
        """Return a motion on a puppet."""
        return retarget_motion(motion, self._job(character, solver))

    def predicting(self, motion: Motion, prediction_s: float) -> RetargetResult:
        """Return a motion on Blubby, the importance looking ahead so far."""
        job = self._job(self.blubby, WALK_SOLVERS[-1])
        importance = replace(self.importance, prediction_s=prediction_s)
        return retarget_motion(motion, replace(job, importance=importance))

    def actor(self, motion: Motion, character: Character, solver: str) -> Actor:
        """Return a puppet in motion."""
        moved = self.run(motion, character, solver).motion(character, motion.rate_hz)
        return Actor(character, moved, character.name.capitalize())

    def captured(self, motion: Motion) -> Actor:
        """Return the performer of a motion."""
        shape = default_capsules(motion.skeleton)
        body = replace(self.performer, skeleton=motion.skeleton, capsules=shape)
        return Actor(body, motion, 'Performer')

    def _job(self, character: Character, solver: str) -> RetargetJob:
        return RetargetJob(
            character,
            self.environment,
            solver,
            self.importance,
            self.tuning,
            self.self_interaction,
        )


def thesis_figures(walk: Motion, cast: Cast) -> dict[str, Callable[[], Picture]]:
    """
    Return the figures by file name, each still to be drawn.

    Parameters
    ----------
    walk : Motion
        What figs. 4.3, 7.2 and 7.3 show.
    cast : Cast
        The bodies. The performer of fig. 7.6 has the proportions of `cast.performer`.

    """
    return {
        'figure_4_3.png': lambda: importance_figure(walk, cast),
        'figure_7_2.png': lambda: walk_figure(walk, cast.blubby, cast),
        'figure_7_3.png': lambda: walk_figure(walk, cast.sally, cast),
        'figure_7_6.png': lambda: contact_figure(cast),
    }


def importance_figure(walk: Motion, cast: Cast) -> Picture:
    """
    Return heights and importances of both feet over time, and what prediction changes.

    The third panel has what fig. 4.3 has: the path of the left foot of a puppet with shorter
    legs, for two times of prediction.
    """
    soles = walk.end_effectors[:, :, 2]
    weights = cast.run(walk, cast.blubby, WALK_SOLVERS[-1]).rows[:, :, IMPORTANCE]
    paths = [cast.predicting(walk, s).puppet.end_effectors[:, 2, 2] for s in PREDICTIONS_S]
    panels = {
        'height of the soles [m]': _both_feet(soles),
        'importance of the feet': _both_feet(weights),
        "height of Blubby's left sole [m]": (
            Line('performer', soles[:, _LEFT_FOOT], GREY, 2.8),
            Line(f'prediction {PREDICTIONS_S[0]:g} s', paths[0], DARK, 1.2, '--'),
            Line(f'prediction {PREDICTIONS_S[1]:g} s', paths[1], BLUE, 1.3),
        ),
    }
    return line_chart(np.arange(walk.n_frames) / walk.rate_hz, panels)


def walk_figure(walk: Motion, character: Character, cast: Cast) -> Picture:
    """Return one row of instants for each of WALK_SOLVERS."""
    frames = even_instants(walk.n_frames, N_INSTANTS)
    rows = []
    for solver in WALK_SOLVERS:
        actor = cast.actor(walk, character, solver)
        title = solver.replace('_', '\n')
        rows.append(StripRow(title, [[actor.body(int(frame))] for frame in frames]))
    captions = [f'{frame / walk.rate_hz:.2f} s' for frame in frames]
    return render_strip(rows, captions, CELL_PX, View(WALK_AZIMUTH_DEG))


def contact_figure(cast: Cast) -> Picture:
    """Return a row for performer, Sally and Blubby; a column for each kind of contact."""
    cells: dict[str, list[list[Body]]] = {}
    for kind in SELF_CONTACTS:
        motion = self_contact_motion(kind, cast.performer.skeleton)
        frame = round(CONTACT_SHARE * (motion.n_frames - 1))
        puppets = (cast.actor(motion, c, WALK_SOLVERS[-1]) for c in (cast.sally, cast.blubby))
        for actor in (cast.captured(motion), *puppets):
            cells.setdefault(actor.title, []).append([actor.body(frame)])
    rows = [StripRow(title, bodies) for title, bodies in cells.items()]
    captions = [CONTACT_TITLES[kind] for kind in SELF_CONTACTS]
    return render_strip(rows, captions, CONTACT_CELL_PX, View(CONTACT_AZIMUTH_DEG))


def _both_feet(values: Floats) -> tuple[Line, Line]:
    """Return the curves of both feet from values (n, 4 or more) of all end-effectors."""
    return (Line('left', values[:, _LEFT_FOOT], BLUE), Line('right', values[:, _RIGHT_FOOT], RED))
