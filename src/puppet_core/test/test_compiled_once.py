# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Each kernel is compiled for one layout: nothing compiles again in a live run."""

import subprocess
import sys

# a process of its own: other tests call the kernels with all sorts of arrays
LIVE_RUN = """
import sys
import numpy as np
from puppet_core.body import continuous_euler, kinematics
from puppet_core.math import quaternions
from puppet_core.body.character import load_character
from puppet_core.body.posture import Motion

skeleton = load_character(sys.argv[1]).skeleton
rotations = quaternions.exp(0.1 * np.random.default_rng(0).normal(size=(4, 16, 3)))
motion = Motion.from_rotations(skeleton, 120.0, np.zeros((4, 3)), rotations)
q_world, p_world, points = np.empty((16, 4)), np.empty((16, 3)), np.empty((8, 3))
split, own, out = continuous_euler.ContinuousEuler(), np.empty((16, 4)), np.empty(4)
offsets, palms = skeleton.offsets.copy(), skeleton.interaction_points.copy()
for i in range(motion.n_frames):
    own[:] = motion.rotations[i]
    kinematics.forward_kinematics(offsets, motion.root_positions[i].copy(), own, q_world, p_world)
    kinematics.end_effector_positions(palms, q_world, p_world, points)
    split.step(motion.rotations[i])
for kernel in (continuous_euler.continuous_euler_of_joints, kinematics.forward_kinematics,
               kinematics.end_effector_positions, continuous_euler.principal_angles):
    print(kernel.py_func.__name__, len(kernel.signatures))
"""


def test_a_live_like_run_compiles_each_kernel_for_one_layout(characters_dir):
    result = subprocess.run(
        [sys.executable, '-c', LIVE_RUN, str(characters_dir / 'performer.yaml')],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    counts = dict(line.split() for line in result.stdout.splitlines())
    assert counts == dict.fromkeys(counts, '1') and len(counts) == 4
