# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A performer made of formulas, for demonstrations and tests without a captured clip.

It stands in the T-pose, walks to a table and lays its hands on it, turns round, walks back,
claps, squats and jumps, and begins again without a seam. Planted soles lie flat and still on
the floor, palms touch the table and each other, and all curves have two derivatives.
"""

import numpy as np
from puppet_core.body import Character, Motion, SEGMENT_INDEX, Skeleton, world_segments
from puppet_core.procedural.arms import add_arms
from puppet_core.procedural.body import make_body
from puppet_core.procedural.curve import check_timing
from puppet_core.procedural.plan import make_plan

T_POSE_S = 2.0


def procedural_motion(
    character: Character | Skeleton, rate_hz: float, t_pose_s: float = T_POSE_S
) -> Motion:
    """
    Return one pass of the performance; its last frame is followed by its first.

    Steps and gestures scale with the body's legs and arms; the table does not, so the proportions
    should be a person's. Raise ConfigError if a time is negative or not finite.
    """
    check_timing(t_pose_s, rate_hz)
    skeleton = character.skeleton if isinstance(character, Character) else character
    plan = make_plan(skeleton, t_pose_s)
    n_frames = round(plan.duration_s * rate_hz)
    t = np.arange(n_frames) / rate_hz
    body = make_body(skeleton, plan, t, rate_hz)
    q_world, p_world = world_segments(skeleton, body.roots, body.rotations)
    chest = SEGMENT_INDEX['chest']
    add_arms(skeleton, plan, t, body, (q_world[:, chest], p_world[:, chest]))
    return Motion.from_rotations(skeleton, rate_hz, body.roots, body.rotations)
