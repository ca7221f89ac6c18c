# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Importance and solvers compile each kernel for one layout, before any frame."""

import json
import subprocess
import sys

# a process of its own: other tests call the kernels with all sorts of arrays
LIVE_RUN = """
from array import array
import json, sys
import numpy as np
from puppet_core.body.character import load_character
from puppet_core.body import posture as posture_check
from puppet_core.body.posture import Posture
from puppet_core.procedural.carry import carry_motion
from puppet_retarget.importance import estimator as es
from puppet_retarget.importance import moving as moving_objects, self_interaction
from puppet_retarget.importance import rests as rests_of
from puppet_retarget.importance.importance_model import ImportanceModel
from puppet_retarget.importance.environment import load_environment
from puppet_retarget.parameters import RetargetConfig
from puppet_retarget.retarget_model import RetargetModel
from puppet_retarget.solvers import baselines, discontinuity, rate_control, SOLVER_NAMES
from puppet_retarget.solvers.thesis import solver as thesis
from puppet_retarget.solvers.whole_body import solver as whole_body

# what Python calls; these call all others, whose signatures a cache on disk does not show
KERNELS = (
    es.estimate_packed, moving_objects.rest, discontinuity.is_usable,
    posture_check.is_posture, self_interaction.step_packed, thesis.solve_packed,
    rests_of.are_rests, rests_of.rests_packed,
    whole_body.solve_packed, whole_body.measure_packed, whole_body.repose_packed,
    baselines.pose_captured_packed, thesis.repose_packed, rate_control.solve_rate_packed,
    discontinuity.add_gap, discontinuity.measure_gap, discontinuity.distance_between,
)

def kernels():
    functions = [(kernel.py_func, kernel.signatures) for kernel in KERNELS]
    return {f'{of.__module__}.{of.__name__}': len(signatures) for of, signatures in functions}

def from_message(values):
    # as messages arrive: a view of an array.array
    flat = array('d', np.ascontiguousarray(values).tobytes())
    return np.frombuffer(flat).reshape(np.shape(values))

characters = [load_character(f'{sys.argv[1]}/{name}.yaml') for name in ('blubby', 'sally')]
place = load_environment(sys.argv[2])
model = RetargetModel(characters[0], place, RetargetConfig(ease_s=0.05))
near = ImportanceModel(
    place, es.ImportanceConfig(), self_interaction.SelfInteractionConfig()
)
near.warm_up()
model.warm_up(*SOLVER_NAMES)
performer = load_character(f'{sys.argv[1]}/performer.yaml')
warm = kernels()
motion = carry_motion(performer, 120.0)
_, segments = motion.world_segments()
velocities = motion.end_effector_velocities()
for n, i in enumerate(range(0, motion.n_frames, 20)):
    # a gap, another character, another solver, on the way
    stamp = n * 8333333 + (10**9 if n > 50 else 0)
    others = {80: 'importance_based', 84: 'joint_angles', 90: 'elbow_circle', 95: 'rate_control',
              100: 'position', 105: 'whole_body'}
    if n in others:
        solver = others[n]
        model.configure(characters[1], RetargetConfig(solver=solver))
    root = from_message(np.append(motion.root_positions[i], [0, 0, 0, 1])[None])[0, :3]
    posture = Posture(
        root, motion.rotations[i].copy(), from_message(motion.end_effectors[i]),
        from_message(velocities[i]), motion.props.at(i),
    )
    leg_length = motion.skeleton.leg_length
    found = near.step(stamp, posture, from_message(segments[i]), leg_length)
    rows, self_rows, moving, rests = found
    assert model.step(
        stamp, root, from_message(segments[i]), posture.rotations, from_message(rows),
        from_message(self_rows), leg_length, moving, from_message(rests),
    )
print(json.dumps([warm, kernels()]))
"""


def test_warm_up_compiles_all_that_a_live_run_needs_for_one_layout(repository):
    """No frame pays for compilation."""
    data = repository / 'data'
    files = [str(data / 'characters'), str(data / 'environments' / 'carry.yaml')]
    words = [sys.executable, '-c', LIVE_RUN, *files]
    result = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    warm, after = json.loads(result.stdout)
    assert warm == after and len(after) == 17 and min(after.values()) > 0
