# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Edit a clip by constraints written in Python: a hand reaches higher, and feet stay.

    python edit_by_constraints.py [CLIP] [OUTPUT.bvh]

It prints how far the hand moved, and the largest error of a constraint. `puppet.edit` reads the
same constraints from a file (doc/edit.md).
"""

import sys

import numpy as np
import puppet
from puppet_edit.editor import BodyPoint, edit_motion, PointGoal


def main(clip: str = 'walk', output: str = 'edited.bvh') -> None:
    motion = puppet.load_clip(clip)
    middle = motion.n_frames // 2
    hand, foot = BodyPoint.named('right_hand'), BodyPoint.named('left_foot')
    frames = np.arange(middle - 2, middle + 3)
    higher = motion.end_effectors[middle, 1] + [0.0, 0.0, 0.15]  # rows: hands, then feet
    constraints = [
        PointGoal(frames, hand, higher),
        PointGoal(frames, foot, motion.end_effectors[frames, 2], keep_orientation=True),
    ]
    edited = edit_motion(motion, constraints)
    moved = edited.motion.end_effectors[middle, 1] - motion.end_effectors[middle, 1]
    print(f'the hand moved by {100.0 * np.linalg.norm(moved):.1f} cm')
    print(f'largest error {1000.0 * edited.constraint_errors_m.max():.3f} mm')
    puppet.save_clip(edited.motion, output)


if __name__ == '__main__':
    main(*sys.argv[1:3])
