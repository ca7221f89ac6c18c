# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Retarget a clip to a humanoid robot, for a trainer: joints and links in a .npz file.

    python robot_npz.py [ROBOT.urdf] [CLIP] [OUTPUT.npz]

By default the robot is the small humanoid of this repository's tests. It prints what was found
out about the robot and the arrays of the file.
"""

from pathlib import Path
import sys

import numpy as np
import puppet
from puppet_core.robots import character_from_urdf, RobotMap

HUMANOID = Path(__file__).resolve().parents[1] / 'src' / 'puppet_core' / 'test' / 'humanoid.urdf'


def main(urdf: str = str(HUMANOID), clip: str = 'walk', output: str = 'robot.npz') -> None:
    robot, notes = character_from_urdf(urdf, RobotMap())
    for note in notes:
        print(f'note: {note}')
    found = puppet.retarget(puppet.load_clip(clip), robot)
    names, angles = found.joints()
    print(f'{robot.name}: {len(names)} joints, {len(angles)} frames')
    found.save(output)
    with np.load(output, allow_pickle=False) as data:
        for name, values in data.items():
            print(f'{name:16} {values.dtype!s:8} {values.shape}')


if __name__ == '__main__':
    main(*sys.argv[1:4])
