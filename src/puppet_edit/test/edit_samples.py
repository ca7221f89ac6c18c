# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A walk that is made on the spot, and edit files for it."""

from functools import cache

from benchmarks.edit.walks import square_walk
from puppet_core import named_files
from puppet_core.body.character import load_character
from puppet_core.body.posture import Motion
from puppet_edit.edit_file import parse_edit, Readers

CHARACTERS = named_files.DATA / 'characters'
NO_READERS = Readers(None, None)  # of files that name no others
RATE_HZ = 30.0
N_FRAMES = 60

FULL_FILE = """\
format: puppet-edit/1
options: {levels: 3, frames_per_knot: 12}
surfaces:
  table: {z_m: 0.7}
objects:
  ball:
    path:
      - {frame: 0, at_m: [0.5, 0.0, 1.0]}
      - {time_s: 1.0, at_m: [0.5, 1.0, 1.0]}
constraints:
  - position: left_hand
    frame: 20
    move_m: [0.1, 0.0, 0.2]
  - position: right_hand
    times_s: [0.2, 0.5]
    object: ball
    from_object_m: [0.0, 0.0, 0.1]
  - orientation: chest
    frame: 20
    turn_rpy_deg: [0, 10, 0]
  - look_at: head
    from_frame: 10
    to_frame: 20
    target_object: ball
  - on_surface: left_hand
    from_s: 1.5
    surface: table
    side: above
  - relative: [left_hand, right_hand]
    frame: 3
    keep: distance
  - plant: right_foot
    from_frame: 30
    to_frame: 39
    surface: floor
"""


@cache
def walk():
    skeleton = load_character(CHARACTERS / 'performer.yaml').skeleton
    motion = square_walk(skeleton, RATE_HZ).motion
    part = slice(20, 20 + N_FRAMES)
    return Motion.from_rotations(
        motion.skeleton, RATE_HZ, motion.root_positions[part], motion.rotations[part]
    )


def plan_of(text, readers=NO_READERS):
    """Return what a file means for the walk; `format` is put before it if it is missing."""
    if 'format:' not in text:
        text = f'format: puppet-edit/1\n{text}'
    return parse_edit(text, 'e.yaml', walk(), readers)


def entry(text):
    """Return a file with one entry, given as a YAML flow mapping."""
    return f'constraints:\n  - {text}\n'
