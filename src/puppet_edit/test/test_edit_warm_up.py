# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""After the editor was made ready nothing more is compiled."""

from edit_samples import FULL_FILE, plan_of, walk
from puppet_core.body.posture import Motion
from puppet_edit.edit_session import warm_up
from puppet_edit.editor import constraint_kernels, pose_solver_kernels
from puppet_edit.editor.motion_edit import edit_motion

KERNELS = (
    constraint_kernels.displace,
    pose_solver_kernels.item_errors,
    pose_solver_kernels.solve_frames,
)


def test_nothing_is_left_to_compile() -> None:
    warm_up(walk())
    counts = [len(kernel.signatures) for kernel in KERNELS]
    plan = plan_of(FULL_FILE)
    edit_motion(plan.motion, plan.constraints, plan.config)
    assert [len(kernel.signatures) for kernel in KERNELS] == counts == [1, 1, 1]


def test_a_clip_of_one_frame_is_enough() -> None:
    one = slice(0, 1)
    warm_up(
        Motion.from_rotations(
            walk().skeleton, 30.0, walk().root_positions[one], walk().rotations[one]
        )
    )
