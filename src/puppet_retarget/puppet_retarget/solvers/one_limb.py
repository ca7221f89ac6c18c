# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""One limb of a frame to one goal, in the form of limb that the solver has (kernel)."""

from puppet_core.arrays import Floats, Vec3
from puppet_core.kernel import kernel
from puppet_retarget.solvers.elbow_circle import solve_limb_on_circle
from puppet_retarget.solvers.frame_arrays import ATTACHED_TO, Frame, STARTS
from puppet_retarget.solvers.limb_rotation import solve_limb
from puppet_retarget.solvers.puppet_model import ELBOW_CIRCLE, PuppetModel, Tuning


@kernel
def solve_one_limb(
    model: PuppetModel, tuning: Tuning, frame: Frame, limb: int, goal: Vec3, q_end: Floats,
    current: float, weight: float,
) -> None:  # fmt: skip
    """Bring the wrist of a limb to a goal, by the solver's form of a limb; see `solve_limb`."""
    start, parent = STARTS[limb], ATTACHED_TO[limb]
    own = frame.rotations[start: start + 3]
    q_parent, shoulder = frame.q_world[parent], frame.p_world[start]
    offsets = model.offsets[start + 1: start + 3]
    upper, lower = model.upper_lengths[limb], model.lower_lengths[limb]
    if tuning.limb_form == ELBOW_CIRCLE:
        solve_limb_on_circle(
            limb, q_parent, shoulder, own, q_end, offsets, upper, lower, goal, current, weight,
            own,
        )  # fmt: skip
    else:
        solve_limb(
            limb, q_parent, shoulder, own, q_end, offsets, upper, lower, goal, current, weight,
            own,
        )  # fmt: skip
