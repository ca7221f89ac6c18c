# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Node `tracker_markers`: RViz markers of a tracker, with or without a puppet.

Subscribes to /tracker/filtered (PoseFrame) and /tracker/raw (TrackerFrame) and publishes
/tracker/markers (MarkerArray) in the frame of the poses: axes, name, status and trail of every
sensor, and raw minus filtered position. Nothing is computed while nobody subscribes.

Example: ros2 run puppet_filter tracker_markers --ros-args -p rate_hz:=10.0
"""

from collections import deque
from collections.abc import Sequence
import colorsys
from dataclasses import dataclass
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from puppet_core.body import MAX_COORDINATE_M, UNIT_TOL
from puppet_core.io import build_config, rows_of, setting
from puppet_core.marker_spec import (
    Colour,
    IDENTITY,
    line_marker,
    MarkerSpec,
    SPHERE_SHAPE,
    text_marker,
)
from puppet_core.math import Floats, Quats, Vec3s
from puppet_core.math import quaternions as quaternion_batch
from puppet_core.sensor_frames import (
    FILTER_LOST,
    FILTER_OK,
    FILTER_PREDICTED,
    FILTER_REINITIALISED,
    FILTER_REJECTED,
    FilteredFrame,
    SAMPLE_OK,
    SensorFrame,
)
from puppet_msgs.msg import PoseFrame, TrackerFrame
from puppet_ros.messages import (
    decoded,
    from_pose_frame,
    from_tracker_frame,
    marker_message,
    raw_header,
)
from puppet_ros.node import (
    ClockJumpDetector,
    Diagnostics,
    NODE_OPTIONS,
    ParameterTable,
    qos,
    RateLimit,
    spin_node,
)
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

NAMESPACES = ('status', 'axes', 'names', 'trails', 'residuals')
STATUS, AXES, NAMES, TRAILS, RESIDUALS = NAMESPACES

BALL_M, AXIS_M, AXIS_WIDTH_M = 0.02, 0.08, 0.005
TRAIL_S, RESIDUAL_GAIN = 2.0, 50.0
RED_M = 0.003  # a residual that is drawn red
TRAIL_WIDTH_M, RESIDUAL_WIDTH_M = 0.004, 0.006
NAME_HEIGHT_M, NAME_ABOVE_M = 0.03, 0.05
GOLDEN = 0.618033988749895  # of the colour circle: neighbours in the list differ most

# How a sensor's ball is coloured, and what its name is followed by.
LOOKS: dict[int, tuple[Colour, str]] = {
    FILTER_OK: ((0.45, 0.85, 0.50, 1.0), ''),
    FILTER_PREDICTED: ((0.98, 0.85, 0.25, 1.0), ': predicted'),
    FILTER_REJECTED: ((0.98, 0.55, 0.15, 1.0), ': rejected'),
    FILTER_REINITIALISED: ((0.40, 0.65, 1.0, 1.0), ': new'),
    FILTER_LOST: ((0.95, 0.20, 0.20, 0.8), ': lost'),
}
OTHER_COLOUR: Colour = (0.6, 0.6, 0.6, 1.0)  # of a status that is not known here
AXIS_COLOURS = np.array(
    [[0.95, 0.25, 0.2, 1.0]] * 2 + [[0.3, 0.85, 0.3, 1.0]] * 2 + [[0.3, 0.5, 1.0, 1.0]] * 2
)
RESIDUAL_STOPS = np.array([0.0, 0.5, 1.0])
RESIDUAL_COLOURS = np.array([[0.45, 0.85, 0.5], [0.95, 0.85, 0.25], [0.95, 0.2, 0.2]])

NODE_NAME = 'tracker_markers'
RAW_TOPIC, FILTERED_TOPIC = 'tracker/raw', 'tracker/filtered'
MARKERS_TOPIC = 'tracker/markers'
LIFETIME_S = 0.5
KEPT_FRAMES = 32  # raw ones, until the filter has had its turn


@dataclass(frozen=True, slots=True)
class TrackerMarkersConfig:
    rate_hz: float = setting(20.0, 'Hz', 0.0, 30.0, 'Rate of /tracker/markers; 0 is none.')


TRACKER_MARKERS_ROWS = rows_of(TrackerMarkersConfig)


class TrackerMarkers:
    def __init__(self) -> None:
        # stamps [ns], positions, and whether a sensor came there from its place before
        self._trail: deque[tuple[int, Vec3s, NDArray[np.bool_]]] = deque()
        self._sensors: tuple[str, ...] = ()
        self._known: Vec3s = np.zeros((0, 3))

    def reset(self) -> None:
        self._trail.clear()
        self._sensors = ()

    def step(self, frame: FilteredFrame, raw: SensorFrame | None) -> tuple[MarkerSpec, ...]:
        """Return what to draw of the next frame, with the measured one of its stamp if known."""
        frame = frame._replace(
            positions=_places(frame.positions), quaternions=_turns(frame.quaternions)
        )
        if frame.sensors != self._sensors:
            self.reset()
            self._sensors = frame.sensors
            self._known = np.full((len(frame.sensors), 3), np.nan)
        self._remember(frame)
        markers = self._sensor_markers(frame) + self._trails(frame.stamp_ns)
        if raw is not None and raw.sensors == frame.sensors:
            markers += self._residuals(frame, raw)
        return tuple(markers)

    def _remember(self, frame: FilteredFrame) -> None:
        there = np.isfinite(frame.positions).all(axis=1)
        self._known[there] = frame.positions[there]
        goes_on = there & (frame.status != FILTER_REINITIALISED)
        self._trail.append((frame.stamp_ns, frame.positions.copy(), goes_on))
        oldest_ns = frame.stamp_ns - round(1e9 * TRAIL_S)
        while self._trail[0][0] < oldest_ns:
            self._trail.popleft()

    def _sensor_markers(self, frame: FilteredFrame) -> list[MarkerSpec]:
        """Return ball and name of every sensor that was ever seen, and the axes of all."""
        markers = []
        above, ball = np.array([0.0, 0.0, NAME_ABOVE_M]), np.full(3, BALL_M)
        for i in map(int, np.flatnonzero(np.isfinite(self._known).all(axis=1))):
            status, place, name = int(frame.status[i]), self._known[i], frame.sensors[i]
            colour, word = LOOKS.get(status, (OTHER_COLOUR, f': status {status}'))
            markers.append(
                MarkerSpec(STATUS, i, SPHERE_SHAPE, place, IDENTITY, ball, colour, name)
            )
            label = text_marker(NAMES, i, name + word, place + above, NAME_HEIGHT_M, colour)
            markers.append(label)
        poses = np.hstack((frame.positions, frame.quaternions))
        poses = np.repeat(poses[np.isfinite(poses).all(axis=1)], 3, axis=0)
        if len(poses):
            starts, n = poses[:, :3], len(poses) // 3
            ends = np.tile(AXIS_M * np.eye(3), (n, 1))
            tips = starts + quaternion_batch.rotate(poses[:, 3:], ends)
            colours = np.tile(AXIS_COLOURS, (n, 1))
            markers.append(line_marker(AXES, 0, _pairs(starts, tips), colours, AXIS_WIDTH_M))
        return markers

    def _trails(self, now_ns: int) -> list[MarkerSpec]:
        """Return the way of every sensor, paler the longer ago; gaps and jumps are left out."""
        if len(self._trail) < 2:
            return []
        stamps_ns, places, goes_on = (np.array(values) for values in zip(*self._trail))
        goes_on = goes_on[1:] & np.isfinite(places[:-1]).all(axis=2)
        ages_s = 1e-9 * (now_ns - stamps_ns)
        strength = np.clip(1.0 - ages_s / TRAIL_S, 0.0, 1.0)
        markers = []
        for i in range(len(self._sensors)):
            steps = np.flatnonzero(goes_on[:, i])
            if len(steps):
                colours = np.empty((2 * len(steps), 4))
                colours[:, :3] = colorsys.hsv_to_rgb(i * GOLDEN % 1.0, 0.55, 0.95)
                colours[:, 3] = _pairs(strength[steps, None], strength[steps + 1, None])[:, 0]
                points = _pairs(places[steps, i], places[steps + 1, i])
                markers.append(line_marker(TRAILS, i, points, colours, TRAIL_WIDTH_M))
        return markers

    def _residuals(self, frame: FilteredFrame, raw: SensorFrame) -> list[MarkerSpec]:
        """Return raw less filtered position of the measured sensors, as lines from the latter."""
        residuals = _places(raw.positions) - frame.positions
        measured = np.flatnonzero((raw.status == SAMPLE_OK) & np.isfinite(residuals).all(axis=1))
        if not len(measured):
            return []
        starts = frame.positions[measured]
        tips = starts + RESIDUAL_GAIN * residuals[measured]
        sizes = np.linalg.norm(residuals[measured], axis=1) / RED_M
        colours = np.repeat(residual_colours(sizes), 2, axis=0)
        return [line_marker(RESIDUALS, 0, _pairs(starts, tips), colours, RESIDUAL_WIDTH_M)]


def residual_colours(sizes: Floats) -> Floats:
    """Return colours (n, 4) of residuals (n,): green for 0, yellow for half, red from 1 on."""
    channels = [np.interp(sizes, RESIDUAL_STOPS, channel) for channel in RESIDUAL_COLOURS.T]
    return np.stack([*channels, np.ones(len(sizes))], axis=1)


def _places(positions: Vec3s) -> Vec3s:
    """Return positions, NaN for what no tracker measures."""
    found = positions.copy()
    found[~np.all(np.abs(positions) <= MAX_COORDINATE_M, axis=1)] = np.nan
    return found


def _turns(quaternions: Quats) -> Quats:
    """Return quaternions, NaN for what is none of unit length."""
    with np.errstate(over='ignore', invalid='ignore'):
        squares = np.einsum('ij,ij->i', quaternions, quaternions)
        is_off = ~(np.abs(squares - 1.0) <= UNIT_TOL)  # also of NaN
    found = quaternions.copy()
    found[is_off] = np.nan
    return found


def _pairs(starts: Floats, ends: Floats) -> Floats:
    return np.stack((starts, ends), axis=1).reshape(2 * len(starts), starts.shape[1])


class TrackerMarkersNode(Node):
    def __init__(self, **kwargs: Any) -> None:
        self._publisher: Any = None  # also of a node that parameters refuse
        super().__init__(NODE_NAME, **NODE_OPTIONS, **kwargs)
        self._table = ParameterTable(
            self,
            TRACKER_MARKERS_ROWS,
            lambda values: build_config(TrackerMarkersConfig, values),
            self._on_config,
        )
        self._markers = TrackerMarkers()
        self._limit = RateLimit(self._table.config.rate_hz)
        self._watch = ClockJumpDetector()
        self._raw: dict[int, bytes] = {}
        self._frame_id = ''
        self._publisher = self.create_publisher(MarkerArray, MARKERS_TOPIC, 10)
        self._diagnostics = Diagnostics(self)
        guarded = self._diagnostics.guarded
        self._inputs = [
            self.create_subscription(
                TrackerFrame, RAW_TOPIC, guarded(self._on_raw), qos.STREAM, raw=True
            ),
            self.create_subscription(
                PoseFrame, FILTERED_TOPIC, guarded(self._on_filtered), qos.STREAM, raw=True
            ),
        ]

    def _on_raw(self, data: bytes) -> None:
        self._raw[raw_header.stamp_ns(data)] = data
        if len(self._raw) > KEPT_FRAMES:
            del self._raw[next(iter(self._raw))]

    def _on_filtered(self, data: bytes) -> None:
        stamp_ns = raw_header.stamp_ns(data)
        if self._watch.went_back(stamp_ns):
            self._markers.reset()
            self._publisher.publish(marker_message.delete_all(self._frame_id))
        self._diagnostics.frame(stamp_ns)
        if not self._publisher.get_subscription_count():
            self._markers.reset()
            return
        if not self._limit.passes(time.monotonic_ns()):
            return
        message = decoded(data, PoseFrame)
        raw = self._raw.get(stamp_ns)
        markers = self._markers.step(
            from_pose_frame(message),
            None if raw is None else from_tracker_frame(decoded(raw, TrackerFrame)),
        )
        self._frame_id = message.header.frame_id
        self._publisher.publish(
            marker_message.to_msg(markers, self._frame_id, stamp_ns, LIFETIME_S)
        )

    def _on_config(self, config: TrackerMarkersConfig) -> None:
        self._limit = RateLimit(config.rate_hz)

    def destroy_node(self) -> None:
        """Delete all markers while that is possible; after a signal they expire."""
        if self._publisher is not None and self.context.ok():
            self._publisher.publish(marker_message.delete_all(self._frame_id))
        self._publisher = None
        super().destroy_node()


def main(argv: Sequence[str] | None = None) -> int:
    return spin_node(TrackerMarkersNode, argv, usage=__doc__ or '')


if __name__ == '__main__':
    sys.exit(main())
