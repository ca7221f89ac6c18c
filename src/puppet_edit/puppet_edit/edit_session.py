# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""An editing session: a clip, and an edit file that grows drag by drag (LeeShin1999 4.4)."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from puppet_core.body import END_EFFECTORS, GENERAL_END_EFFECTORS, Motion
from puppet_core.clips import write_bvh
from puppet_core.drawing import Picture, save_png
from puppet_core.io import write_text
from puppet_core.math import Vec3
from puppet_edit.edit_file import (
    BodyTrack,
    CONSTRAINTS,
    edit_text,
    EditEntry,
    EditPlan,
    OPTIONS,
    parse_edit,
    POSITION,
    Readers,
)
from puppet_edit.editor import BodyPoint, edit_motion, EditConfig, EditResult, PointGoal
from puppet_edit.scene import cut, detect_contacts
from puppet_retarget.offline import arguments as clip_arguments
from puppet_retarget.offline import write_report

KNOTS_REACHED = 7  # of the coarsest level, by one constraint (LeeShin1999 section 6)
POINTS = (*GENERAL_END_EFFECTORS, 'pelvis', 'chest', 'head')
FEET = END_EFFECTORS[2:]
REACH_S = 0.4  # to both sides of a drag
DRAG_LEVELS = 3
DRAG_RIGIDITY = {'spine': 5.0, 'chest': 5.0}  # an arm reaches before the trunk bends
PLACE_DIGITS = 4  # of a dragged place in the file: a tenth of a millimetre


def warm_up(clip: Motion) -> None:
    """Edit a little of a clip, so that the next edit does not wait and its times are its own."""
    motion = cut(clip, 0, 2)
    hand = BodyPoint.named('left_hand')
    goal = PointGoal(np.array([0]), hand, motion.end_effectors[0, 0], contact=True)
    edit_motion(motion, [goal], EditConfig(levels=1))


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--asf', type=Path, metavar='F', help='skeleton of an .amc clip')
    text = 'keep the floor and the first frames as they are in the file'
    parser.add_argument('--as-is', action='store_true', help=text)
    clip_arguments.add_clip_options(parser)


def read_clip(path: Path, arguments: argparse.Namespace, asf: Path | None = None) -> Motion:
    """Return a clip; its end-effectors are those of its angles, which are what is edited."""
    mend = not arguments.as_is
    clip = clip_arguments.read_clip(path, arguments, asf or arguments.asf, mend)
    return Motion.from_rotations(clip.skeleton, clip.rate_hz, clip.root_positions, clip.rotations)


def readers(arguments: argparse.Namespace) -> Readers:
    return Readers(
        lambda path, asf: read_clip(path, arguments, asf),
        lambda name: clip_arguments.find_character(name),
    )


def check_outputs(arguments: argparse.Namespace, inputs: Mapping[str, Path | None]) -> None:
    """Refuse OUT, --report and --preview that cannot be written, or that are inputs."""
    outputs = {'OUT': arguments.out, '--report': arguments.report, '--preview': arguments.preview}
    suffixes = {'OUT': '.bvh', '--preview': '.png'}
    for name, path in outputs.items():
        if path is not None:
            clip_arguments.check_output(path, name, suffixes.get(name, ''))
    clip_arguments.require_other_files(inputs, outputs)


def write_outputs(
    arguments: argparse.Namespace,
    motion: Motion,
    figures: Mapping[str, Any],
    picture: Picture | None,
) -> None:
    """Write OUT, and --report and --preview where they were asked for."""
    write_bvh(motion, arguments.out)
    if arguments.report:
        write_report(figures, arguments.report)
    if picture is not None:
        save_png(arguments.preview, picture)


class EditSession:
    def __init__(
        self,
        clip: Motion,
        readers: Readers,
        tree: Mapping[str, Any] | None = None,
        path: str | Path = 'edit.yaml',
    ) -> None:
        """Begin with a clip and the plain values of an edit file at `path`; or InputFileError."""
        self.clip = clip  # As it was read
        self.path = Path(path)  # Of the edit file
        self._readers = readers
        start = {OPTIONS: drag_options(REACH_S, clip) | {'joint_rigidity': dict(DRAG_RIGIDITY)}}
        if tree is not None:
            start = dict(tree)
        self._standing = detect_contacts(clip).planted
        self._steps = [self._step(start)]
        self._at = 0
        self._saved = None if tree is None else edit_text(start)

    @property
    def plan(self) -> EditPlan:
        return self._steps[self._at][1]

    @property
    def result(self) -> EditResult:
        return self._steps[self._at][2]

    @property
    def edited(self) -> Motion:
        return self.result.motion

    @property
    def entries(self) -> tuple[EditEntry, ...]:
        return self.plan.entries

    @property
    def is_saved(self) -> bool:
        return self.to_yaml() == self._saved

    @property
    def can_undo(self) -> bool:
        return self._at > 0

    def place(self, point: str, frame: int) -> Vec3:
        """Return where a point of the edited body is in a frame, shape (3,) [m]."""
        posture = cut(self.edited, frame, frame + 1)
        return BodyTrack(posture).places(BodyPoint.named(point), np.array([0]))[0]

    def drag(self, point: str, frame: int, place: Vec3, held: Sequence[str] = ()) -> None:
        """
        Let a point be at a place [m] in a frame; a second drag of it there replaces the first.

        Points `held` stay where the motion has them in that frame. Raises InputFileError if there
        is no such frame or point.
        """
        at = [round(float(value), PLACE_DIGITS) for value in place]
        entries = [
            entry
            for entry in self._tree_entries()
            if (entry.get(POSITION), entry.get('frame')) != (point, frame)
        ]
        entries.append({POSITION: point, 'frame': frame, 'at_m': at})
        known = {(entry.get(POSITION), entry.get('frame')) for entry in entries}
        entries += [
            {POSITION: name, 'frame': frame, 'move_m': [0.0, 0.0, 0.0], 'keep_orientation': True}
            for name in held
            if (name, frame) not in known
        ]
        self._do({CONSTRAINTS: entries})

    def remove(self, index: int) -> None:
        entries = self._tree_entries()
        self._do({CONSTRAINTS: [*entries[:index], *entries[index + 1 :]]})

    def set_reach(self, reach_s: float) -> None:
        """Let drags spread about so far to both sides [s]."""
        options = {**self._tree().get(OPTIONS, {}), **drag_options(reach_s, self.clip)}
        self._do({OPTIONS: options})

    def standing_feet(self, frame: int) -> tuple[str, ...]:
        row = self._standing[min(frame, len(self._standing) - 1)]
        return tuple(name for name, stands in zip(FEET, row) if stands)

    def undo(self) -> None:
        self._at = max(self._at - 1, 0)

    def redo(self) -> None:
        self._at = min(self._at + 1, len(self._steps) - 1)

    def to_yaml(self) -> str:
        return edit_text(self._tree())

    def save(self) -> None:
        text = self.to_yaml()
        write_text(self.path, text)
        self._saved = text

    def _tree(self) -> dict[str, Any]:
        return self._steps[self._at][0]

    def _tree_entries(self) -> list[dict[str, Any]]:
        return list(self._tree().get(CONSTRAINTS, []))

    def _do(self, changes: Mapping[str, Any]) -> None:
        step = self._step({**self._tree(), **changes})
        self._steps = [*self._steps[: self._at + 1], step]
        self._at += 1

    def _step(self, tree: dict[str, Any]) -> tuple[dict[str, Any], EditPlan, EditResult]:
        plan = parse_edit(edit_text(tree), self.path, self.clip, self._readers)
        result = EditResult(plan.motion, (), None, 0.0, 0, 0, np.zeros(0))
        if plan.constraints:
            result = edit_motion(plan.motion, plan.constraints, plan.config)
        return tree, plan, result


def drag_options(reach_s: float, clip: Motion) -> dict[str, Any]:
    """Return options of a file with which a drag reaches about so far to both sides [s]."""
    spacing = 2.0 * reach_s * clip.rate_hz / KNOTS_REACHED
    return {'levels': DRAG_LEVELS, 'frames_per_knot': round(max(spacing, 0.5), 3)}
