# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Figures 4.1, 4.3, 7.2, 7.3 and 7.6 of Shin2002, drawn from our own runs."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from benchmarks.line_chart import Line, line_chart
from benchmarks.quality.procedural_self_contact import self_contact_motion, SELF_CONTACTS
import numpy as np
from puppet_core.body import Character, default_capsules, Motion
from puppet_core.drawing import BLUE, DARK, GREY, Picture
from puppet_core.math import Floats
from puppet_retarget.importance import (
    Environment,
    IMPORTANCE,
    ImportanceConfig,
    SelfInteractionConfig,
)
from puppet_retarget.offline import limb_importances, retarget_motion, RetargetJob, RetargetResult
from puppet_retarget.solvers import SOLVER_NAMES, SolverConfig
from puppet_view.render import Actor, Body, even_instants, render_strip, StripRow, View
from puppet_view.render.cast import objects_of

# Of fig. 4.1, in the built-in show: what the left hand does, and when.
SITUATIONS = {'free hand': 5.55, 'hand at an object': 12.0}
SITUATION_CELL_PX, SITUATION_AZIMUTH_DEG = (480, 400), 100.0
JUMP_S = (31.6, 32.5)  # of the built-in show: what fig. 4.3 shows
PREDICTIONS_S = (0.0, 0.15)  # of fig. 4.3
PREDICTION_PX = 560  # its height
WALK_SOLVERS = ('joint_angles', 'position', 'importance_based')  # rows of figs. 7.2 and 7.3
N_INSTANTS = 6
CELL_PX = (330, 370)
CONTACT_CELL_PX = (400, 420)
WALK_AZIMUTH_DEG, CONTACT_AZIMUTH_DEG = 75.0, -35.0
CONTACT_SHARE = 0.5  # of a motion with self-interaction: the palms touch
CONTACT_TITLES = {'smoke': 'smoking', 'waist': 'hands on waist', 'clap': 'clapping'}
_LEFT_FOOT = 2


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
        """
        Return a motion on Blubby in the performer's world, looking ahead so far [s].

        The importance is not smoothed, as in the thesis: it would be late by what is looked ahead.
        """
        blubby = replace(self.blubby, world_scale=1.0)
        importance = replace(self.importance, prediction_s=prediction_s, smoothing_s=0.0)
        cast = replace(self, importance=importance)
        return cast.run(motion, blubby, WALK_SOLVERS[-1])

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


def thesis_figures(
    walk: Motion, show: Motion, cast: Cast, stage: Environment
) -> dict[str, Callable[[], Picture]]:
    """
    Return the figures by file name, each still to be drawn.

    Parameters
    ----------
    walk : Motion
        What figs. 7.2 and 7.3 show.
    show : Motion
        The built-in show of `cast.performer`, for figs. 4.1 and 4.3.
    cast : Cast
        The bodies. The performer of fig. 7.6 has the proportions of `cast.performer`.
    stage : Environment
        What the show is performed in.

    """
    on_stage = replace(cast, environment=stage)
    return {
        'figure_4_1.png': lambda: situation_figure(show, on_stage),
        'figure_4_3.png': lambda: prediction_figure(part(show, JUMP_S), on_stage),
        'figure_7_2.png': lambda: walk_figure(walk, cast.blubby, cast),
        'figure_7_3.png': lambda: walk_figure(walk, cast.sally, cast),
        'figure_7_6.png': lambda: contact_figure(cast),
    }


def part(motion: Motion, span_s: tuple[float, float]) -> Motion:
    """Return what happens from one time to another [s]."""
    frames = slice(*(round(time * motion.rate_hz) for time in span_s))
    return Motion(
        motion.skeleton,
        motion.rate_hz,
        motion.root_positions[frames],
        motion.rotations[frames],
        motion.end_effectors[frames],
    )


def situation_figure(show: Motion, cast: Cast) -> Picture:
    """Return a column for each of SITUATIONS by the default; colours tell what limbs matter."""
    until = part(show, (0.0, max(SITUATIONS.values()) + 0.1))
    actors = []
    for character in (cast.sally, cast.blubby):
        result = cast.run(until, character, SOLVER_NAMES[0])
        scale = character.scale_for(until.skeleton.leg_length)
        importances = limb_importances(result)
        moved, title = result.motion(character, until.rate_hz), character.name.capitalize()
        objects = objects_of(cast.environment, True, scale)
        actors.append(Actor(character, moved, title, importances, objects))
    captured = replace(
        cast.captured(until), importances=importances, objects=objects_of(cast.environment)
    )
    rows = [
        StripRow(a.title, [[a.body_at(s)] for s in SITUATIONS.values()], a.objects)
        for a in (captured, *actors)
    ]
    view = View(SITUATION_AZIMUTH_DEG)
    return render_strip(rows, list(SITUATIONS), SITUATION_CELL_PX, view, has_legend=True)


def prediction_figure(jump: Motion, cast: Cast) -> Picture:
    """
    Return what prediction changes in a jump: the left foot's importance, and its path.

    The puppet's legs are shorter than the performer's. Its foot leaves the performer's path to
    keep the joint angles; with prediction it leaves it earlier and is back earlier.
    """
    found = {s: cast.predicting(jump, s) for s in PREDICTIONS_S}
    looks = ((DARK, 1.3, '--'), (BLUE, 1.5, '-'))
    names = {s: f'prediction {s:g} s' for s in PREDICTIONS_S}

    def lines(values: Callable[[RetargetResult], Floats]) -> list[Line]:
        return [Line(names[s], values(found[s]), *look) for s, look in zip(PREDICTIONS_S, looks)]

    importances = lines(lambda result: result.rows[:, _LEFT_FOOT, IMPORTANCE])
    heights = lines(lambda result: result.puppet.end_effectors[:, _LEFT_FOOT, 2])
    captured = Line('performer', jump.end_effectors[:, _LEFT_FOOT, 2], GREY, 2.8)
    panels = {
        'importance of the left foot': importances,
        "height of Blubby's left sole [m]": [captured, *heights],
    }
    return line_chart(np.arange(jump.n_frames) / jump.rate_hz, panels, PREDICTION_PX)


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
