# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
A retargeting method of your own, judged by our report beside ours.

    python own_method.py [CLIP] [CHARACTER]

The method copies the performer's joint angles and then puts the lower foot on the performer's
height. It prints the same figures for it and for `whole_body` and `joint_angles`.
"""

import sys
from typing import Any

import numpy as np
import puppet
from puppet_core.body import end_effector_positions, forward_kinematics
from puppet_retarget.importance import GOAL
from puppet_retarget.solvers import SolverOutput


class CopyAngles:
    """Any object with a name, `solve` and `repose` is a solver."""

    name = 'copy_angles'

    def __init__(self, character: puppet.Character, performer_leg_length: float) -> None:
        self.body, self.scale = character.skeleton, character.scale_for(performer_leg_length)
        pose = np.zeros(3), np.zeros((16, 4)), np.zeros((16, 4)), np.zeros((16, 3))
        figures = np.zeros((8, 3)), np.zeros(3), np.zeros(4), np.zeros(4), np.zeros(8)
        self.output = SolverOutput(*pose, *figures, body_iterations=0, reachable=True)

    def solve(
        self, root: Any, hips: Any, rotations: Any, rows: Any, dt: float, *others: Any
    ) -> SolverOutput:
        out = self.output
        out.root_position[:], out.rotations[:] = self.scale * root, rotations
        self.repose(rows)
        goals = self.scale * rows[:4, GOAL : GOAL + 3]
        lower = out.end_effectors[2:4, 2].argmin()
        out.root_position[2] += goals[2 + lower, 2] - out.end_effectors[2 + lower, 2]
        self.repose(rows)
        return out

    def repose(self, rows: Any) -> None:
        out, body = self.output, self.body
        forward_kinematics(
            body.offsets, out.root_position, out.rotations, out.q_world, out.p_world
        )
        end_effector_positions(
            body.interaction_points, out.q_world, out.p_world, out.end_effectors
        )
        away = out.end_effectors[:4] - self.scale * rows[:4, GOAL : GOAL + 3]
        out.goal_errors[:] = np.linalg.norm(away, axis=1)
        out.penetrations[:] = np.maximum(0.0, -out.end_effectors[:4, 2])  # the floor's alone


def main(clip: str = 'walk', name: str = 'sally') -> None:
    motion, character = puppet.load_clip(clip), puppet.load_character(name)
    own = CopyAngles(character, motion.skeleton.leg_length)
    print(f'{"method":14} {"slide [mm/s]":>12} {"error p99 [mm]":>14} {"in floor [mm]":>13}')
    for solver in (own, 'joint_angles', 'whole_body'):
        figures = puppet.retarget(motion, character, 'floor', solver).report()
        slide = figures['planted_foot_slide_mm_s']['puppet'] or 0.0
        error_mm = figures['goal_error_mm']['p99'] or 0.0
        depth_mm = figures['penetration_mm']['environment_max']
        print(f'{figures["solver"]:14} {slide:12.1f} {error_mm:14.2f} {depth_mm:13.1f}')


if __name__ == '__main__':
    main(*sys.argv[1:3])
