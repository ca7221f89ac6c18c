# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A good C3D file to damage: a body in a T-pose with the markers of Helen Hayes, who sways."""

from importlib.util import find_spec
from pathlib import Path
import tempfile

import numpy as np

N_FRAMES, RATE_HZ = 12, 60.0
SWAY_M = 0.02  # from the first frame to the last
MIDDLE = {
    'V.Sacral': (-0.09, 0.0, 1.0),
    'Front.Head': (0.1, 0.0, 1.62),
    'Rear.Head': (-0.1, 0.0, 1.62),
    'Top.Head': (0.0, 0.0, 1.75),
}
LEFT = {
    'ASIS': (0.07, 0.12, 1.02),
    'Shoulder': (0.0, 0.18, 1.45),
    'Elbow': (-0.04, 0.48, 1.40),
    'Elbow.Medial': (0.04, 0.48, 1.40),
    'Wrist': (0.0, 0.74, 1.40),
    'Thigh': (0.0, 0.16, 0.75),
    'Knee': (0.0, 0.15, 0.52),
    'Knee.Medial': (0.0, 0.03, 0.52),
    'Shank': (0.0, 0.14, 0.3),
    'Ankle': (0.0, 0.13, 0.1),
    'Ankle.Medial': (0.0, 0.05, 0.1),
    'Heel': (-0.06, 0.09, 0.03),
    'Toe': (0.16, 0.09, 0.03),
}
"""Places [m]; those of the right are their mirror."""


def has_reader() -> bool:
    """Return whether ezc3d, an optional package, is there."""
    return find_spec('ezc3d') is not None


def c3d_files() -> list[bytes]:
    """Return a good file."""
    import ezc3d

    places = dict(MIDDLE)
    for name, (x, y, z) in LEFT.items():
        places |= {f'L.{name}': (x, y, z), f'R.{name}': (x, -y, z)}
    values = np.ones((4, len(places), N_FRAMES))
    values[:3] = 1e3 * np.array(list(places.values())).T[:, :, None]
    values[0] += 1e3 * np.linspace(0.0, SWAY_M, N_FRAMES)
    content = ezc3d.c3d()
    point = content['parameters']['POINT']
    point['RATE']['value'], point['UNITS']['value'] = [RATE_HZ], ['mm']
    point['LABELS']['value'] = list(places)
    content['data']['points'] = values
    content.add_parameter('POINT', 'Y_SCREEN', ['+Z'])
    with tempfile.TemporaryDirectory(prefix='puppet_fuzz_') as folder:
        path = Path(folder) / 'made.c3d'
        content.write(str(path))
        return [path.read_bytes()]
