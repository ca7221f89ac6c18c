# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Good files to damage, of the kinds that are short."""

import io

import numpy as np
from puppet_core.body import N_SAMPLES
from puppet_core.io import dump_yaml
from puppet_ros.bags import BagTopic, metadata_file_of

ASF = b""":version 1.10
:name made
:units
  mass 1.0
  length 0.45
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name hip
    direction 0 -1 0
    length 2
    axis 0 0 0 XYZ
  end
  begin
    id 2
    name leg
    direction 0 -0.6 0.8
    length 3
    axis 10 20 30 XYZ
    dof rx rz
    limits (-160.0 20.0)
           (-70.0 70.0)
  end
:hierarchy
  begin
    root hip
    hip leg
  end
"""
AMC = (
    b':FULLY-SPECIFIED\n:DEGREES\n1\nroot 1 2 3 10 20 30\nleg 40 50\n'
    b'2\nroot 4 5 6 0 0 0\nleg 0 0\n'
)
EDIT = b"""format: puppet-edit/1
constraints:
- {position: left_hand, move_m: [0.0, 0.0, 0.1], frames: [2, 6]}
- {position: right_hand, move_m: [0.1, 0.0, 0.0], from_frame: 1, to_frame: 9}
"""
TARGETS = (
    b'frame,left_hand_x_m,left_hand_y_m,left_hand_z_mm\n0,0.1,0.5,1000\n2,,0.5,1000\n',
    b'format: puppet-targets/1\npositions:\n  - {frame: 2, left_knee: [0, 0, 0.5]}\n',
)

CALIBRATION = b"""format: puppet-calibration/1
performer: performer
heading_deg: 0.0
residual_m: 0.001
residual_deg: 0.1
sensors:
- {sensor: pelvis, segment: pelvis, rotation_wxyz: [1.0, 0.0, 0.0, 0.0],
   position_m: [0.0, 0.0, 0.1], spread_m: 0.001, spread_deg: 0.1}
- {sensor: left_hand, segment: left_hand, rotation_wxyz: [0.0, 1.0, 0.0, 0.0],
   position_m: [0.0, 0.1, 0.0], spread_m: 0.001, spread_deg: 0.1}
"""
NOISE = (
    b'format: puppet-sensor-noise/1\nsensors:\n  a: [\n'
    + b',\n'.join(
        b'    ' + b', '.join(b'1.0e-06' if i == k else b'0.0' for k in range(6)) for i in range(6)
    )
    + b']\n'
)
METADATA = metadata_file_of(
    [BagTopic('/tracker/raw', 'puppet_msgs/msg/TrackerFrame', '', '', 5)], 0, 10**9, 'a.mcap'
).encode()
NAME_MAP = b"""format: puppet-name-map/1
name: mine
rest: t_pose
joints:
  pelvis: Becken
  chest: [Brust, Brustkorb]
  left_thigh: Schenkel.L
  left_toe: [Zeh.L]
"""
TOLERANCES = b"""format: puppet-tolerances/1
preset: exact
rules:
  - {max_mm: 2.0, max_deg: 1.0, max_rad: 0.05, max_mm_s: 500.0}
  - {topic: /importance, field: importance, max_ratio: 0.2, rms_ratio: 0.05}
  - {topic: '/retarget/*', ignore: true}
  - {topic: '*', missing_messages: 2, extra_messages: 0}
  - {field: '*_sign', mismatches: 3}
"""
ROBOT_MAP = b"""format: puppet-robot-map/1
forward: [0, 1, 0]
up: [0, 0, 1]
segments:
  chest: [waist_yaw]
  left_thigh: [left_hip_yaw, left_hip_roll, left_hip_pitch]
  left_shank: [left_knee]
"""
HEIGHTS_CSV = b'0.0,0.1,0.2,0.1\n0,0,1e-1,0\n0.5,0.4,0.2,0\n\n0,0,-0.1,0.3\n'


def surface() -> bytes:
    """Return measured points of two segments."""
    turns = np.linspace(0.0, 6.0, N_SAMPLES)
    ring = np.round(0.1 * np.array([np.cos(turns), np.sin(turns), turns]).T, 3).tolist()
    points = {'pelvis': ring, 'left_hand': ring}
    return dump_yaml({'format': 'puppet-surface/1', 'points_m': points}).encode()


def heights_npy() -> list[bytes]:
    """Return arrays of heights, of three kinds of number."""
    found = []
    for kind in ('<f8', '>f4', '<i2'):
        sink = io.BytesIO()
        np.save(sink, np.arange(20).reshape(4, 5).astype(kind))
        found.append(sink.getvalue())
    return found


def heights_png() -> list[bytes]:
    """Return pictures of heights, of 8 and 16 bits and in black and white."""
    from PIL import Image

    found = []
    for grey in (np.uint8, np.uint16, np.bool_):
        sink = io.BytesIO()
        Image.fromarray(np.arange(20).reshape(4, 5).astype(grey)).save(sink, 'png')
        found.append(sink.getvalue())
    return found
