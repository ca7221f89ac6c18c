# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked of each frame of a clip, and all of its frames in one compiled loop."""

from typing import NamedTuple

import numpy as np
from puppet_core.math import copy, Ints, kernel, Quats, Vec3s
from puppet_retarget.rate_control import advance, change_base


class Script(NamedTuple):
    """What is asked of each frame of a clip, for n frames, s segments and t tasks."""

    bases: Ints  # (n,) segment that the tree hangs on
    base_positions: Vec3s  # (n, 3) [m]
    base_orientations: Quats  # (n, 4)
    entry_positions: Vec3s  # (n, 3) of the same segment in the frame before [m]
    entry_orientations: Quats  # (n, 4)
    active: Ints  # (n, t)
    positions: Vec3s  # (n, t, 3) goals [m]
    orientations: Quats  # (n, t, 4) goals
    imitated: Quats  # (n, s, 4) joint rotations


@kernel
def play_packed(
    packed: np.ndarray, script: Script, rotations: Quats, q_world: Quats, p_world: Vec3s
) -> None:
    """Take all frames of a script; write rotations, orientations and positions of each."""
    c = packed[0]
    tree, inputs, state = c.tree, c.inputs, c.state
    for i in range(len(script.bases)):
        if tree.base[0] != script.bases[i]:
            copy(script.entry_positions[i], inputs.base_position)
            copy(script.entry_orientations[i], inputs.base_orientation)
            change_base(c, script.bases[i])
        copy(script.base_positions[i], inputs.base_position)
        copy(script.base_orientations[i], inputs.base_orientation)
        for task in range(tree.n_tasks):
            inputs.active[task] = script.active[i, task]
            copy(script.positions[i, task], inputs.positions[task])
            copy(script.orientations[i, task], inputs.orientations[task])
        for joint in range(1, tree.n_segments):
            copy(script.imitated[i, joint], inputs.imitated[joint])
        advance(c)
        for segment in range(tree.n_segments):
            copy(state.rotations[segment], rotations[i, segment])
            copy(state.q_world[segment], q_world[i, segment])
            copy(state.p_world[segment], p_world[i, segment])
