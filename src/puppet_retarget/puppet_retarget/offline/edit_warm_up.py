# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The editor made ready: what has to be compiled on a machine's first use of it."""

import numpy as np
from puppet_core.posture import Motion
from puppet_retarget.editing.constraints import BodyPoint, PointGoal
from puppet_retarget.editing.edit_config import EditConfig
from puppet_retarget.editing.motion_edit import edit_motion

FRAMES = 2  # of a clip, enough for every step


def warm_up(clip: Motion) -> None:
    """Edit a little of a clip, so that the next edit does not wait and its times are its own."""
    few = slice(0, min(FRAMES, clip.n_frames))
    motion = Motion.from_rotations(
        clip.skeleton, clip.rate_hz, clip.root_positions[few], clip.rotations[few]
    )
    goal = PointGoal(
        np.array([0]), BodyPoint.named('left_hand'), motion.end_effectors[0, 0], contact=True
    )
    edit_motion(motion, [goal], EditConfig(levels=1))
