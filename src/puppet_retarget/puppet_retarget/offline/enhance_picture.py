# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A strip of instants of a motion before and after its enhancement, with the measured places."""

from collections.abc import Sequence

import numpy as np
from puppet_core.arrays import Vec3s
from puppet_core.character import Character
from puppet_core.image_file import Picture
from puppet_core.posture import Motion
from puppet_view.render.scene import Body, Solid
from puppet_view.render.strip import even_instants, render_strip, StripRow

INSTANTS = 5
MARK_M = 0.035  # edge of the cube where an end-effector was measured
MARK_COLOUR = (0.85, 0.12, 0.10)
AZIMUTH_DEG = 25.0


def before_and_after(
    character: Character, motions: tuple[Motion, Motion], goals: Vec3s,
    keyframes: Sequence[int] = (), cell_px: tuple[int, int] = (320, 360),
) -> Picture:  # fmt: skip
    """
    Return a row as measured and one enhanced; cubes are where end-effectors have to be.

    Parameters
    ----------
    character : Character
        The body.
    motions : tuple of Motion
        Before and after.
    goals : ndarray, shape (n, 8, 3)
        Where end-effectors have to be [m]; NaN where not known.
    keyframes : sequence of int
        Instants are keyframes where there are enough of them inside the motion.
    cell_px : tuple of int
        Width and height of a picture.

    """
    frames = _instants(len(goals), keyframes)
    marks = [
        [Solid(place, np.full(3, MARK_M), colour=MARK_COLOUR)
         for place in goals[frame] if np.isfinite(place).all()]
        for frame in frames
    ]  # fmt: skip
    rows = [
        StripRow(
            title, [[Body.in_posture(character, motion.posture(f))] for f in frames], (), marks
        )
        for title, motion in zip(('Measured', 'Enhanced'), motions)
    ]
    captions = [f'{frame / motions[0].rate_hz:.2f} s' for frame in frames]
    return render_strip(rows, captions, cell_px, AZIMUTH_DEG)


def _instants(n_frames: int, keyframes: Sequence[int]) -> list[int]:
    inner = [frame for frame in keyframes if 0 < frame < n_frames - 1]
    if len(inner) < INSTANTS:
        return [int(frame) for frame in even_instants(n_frames, INSTANTS)]
    return [inner[int(i)] for i in even_instants(len(inner), INSTANTS)]
