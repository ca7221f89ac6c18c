# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A calibration recorded live, with prompts on the terminal."""

from collections.abc import Callable, Sequence
import sys
import time
from typing import Any, TypeVar

from puppet_core.body import Character
from puppet_core.io import CalibrationError
from puppet_core.math import Quat, Vec3
from puppet_core.sensor_frames import FilteredFrame
from puppet_msgs.msg import PoseFrame
from puppet_performer.calibration import (
    CalibrationLimits,
    find_pose,
    left_to_move,
    MotionRecording,
    PoseRecording,
    StreamRecorder,
)
from puppet_performer.sensor_layout import SensorLayout
from puppet_ros.messages import from_pose_frame, MessageError, WORLD
from puppet_ros.node import make_executor, qos, StaticTransforms
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

Content = TypeVar('Content')
FILTERED_TOPIC = 'tracker/filtered'
COUNTDOWN_S = 5
POSE_S = 2.0
MOTION_S, MAX_MOTION_S = 20.0, 60.0
REPORT_S = 3.0
SILENCE_LIMIT_S = 10.0
POSE_PROMPT = 'stand in the T-pose: upright, arms level to the sides, palms down, feet parallel'
MOTION_PROMPT = """\
now move, one after the other and then all together, for about 25 s:
  shoulders: swing, raise and roll the arms    elbows: bend, and turn the palms
  wrists: up, down, sideways                   legs: raise, spread, bend, turn the toes
  feet: point, pull up, roll                   trunk: bow, lean, twist
  head: nod, turn, tip to both sides"""


class CalibrationNode(Node):
    """Receives sensor frames and where their tracker stands; spins itself."""

    def __init__(self, ros_arguments: Sequence[str]) -> None:
        rclpy.init(args=list(ros_arguments))
        super().__init__('calibrate')
        self.heard_at = time.monotonic()  # when something of use came last
        self._frames = 0
        self._frame_id = ''
        self._transforms = StaticTransforms(self)
        self.create_subscription(PoseFrame, FILTERED_TOPIC, self._on_message, qos.STREAM)
        self._spinner = make_executor()
        self._spinner.add_node(self)

    def close(self) -> None:
        self._spinner.shutdown()
        self.destroy_node()
        rclpy.try_shutdown()

    def spin_for(self, duration_s: float) -> None:
        """Receive messages for a while [s], and one at least if it comes."""
        end = time.monotonic() + duration_s
        try:
            self._spinner.spin_once(timeout_sec=0.02)
            while time.monotonic() < end:
                self._spinner.spin_once(timeout_sec=0.02)
        except ExternalShutdownException:
            raise KeyboardInterrupt from None

    def require_input(self) -> None:
        """Raise RuntimeError, with what there is to do, if nothing of use came for long."""
        if time.monotonic() - self.heard_at > SILENCE_LIMIT_S:
            raise RuntimeError(self.missing())

    def missing(self) -> str:
        if not self._frames:
            return f'{FILTERED_TOPIC}: expected sensor frames, got none; is the filter running?'
        if self.place() is None:
            return f'/tf_static: expected the place of {self._frame_id!r} in {WORLD}, got none'
        return f'{FILTERED_TOPIC}: expected more sensor frames, got none'

    def place(self) -> tuple[Vec3, Quat] | None:
        """Return where the tracker of the last frame stands in world, if that is known."""
        return self._transforms.lookup(WORLD, self._frame_id)

    def on_frame(self, frame: FilteredFrame) -> None:
        raise NotImplementedError

    def decoded(self, from_msg: Callable[[Any], Content], msg: Any) -> Content | None:
        """Return the content of a message, None with a warning if it is unusable."""
        try:
            return from_msg(msg)
        except MessageError as err:
            self.get_logger().warning(str(err), throttle_duration_sec=5.0)
            return None

    def _on_message(self, msg: PoseFrame) -> None:
        frame = self.decoded(from_pose_frame, msg)
        if frame is not None:
            self._frames += 1
            self._frame_id = msg.header.frame_id
            self.on_frame(frame)


class LiveSession(CalibrationNode):
    """One person in front of the terminal and the tracker."""

    def __init__(
        self,
        layout: SensorLayout,
        performer: Character,
        limits: CalibrationLimits,
        ros_arguments: Sequence[str],
    ) -> None:
        self._layout = layout
        self._performer = performer
        self._limits = limits
        self._recorder = StreamRecorder(layout.sensors)
        super().__init__(ros_arguments)

    def on_frame(self, frame: FilteredFrame) -> None:
        """Record a frame whose place is known."""
        place = self.place()
        if place is not None:
            self.heard_at = time.monotonic()
            self._recorder.add(frame, *place)

    def pose(self) -> PoseRecording:
        """Return the T-pose, after a countdown; CalibrationError if that cannot be used."""
        before = self.heard_at
        while self.heard_at == before:  # nobody is to stand still for nothing
            self.spin_for(0.05)
            self.require_input()
        _say(POSE_PROMPT)
        for left in range(COUNTDOWN_S, 0, -1):
            _say(f'  {left}')
            self.spin_for(1.0)
        self._recorder.restart()
        _say('hold still')
        self._record(POSE_S)
        recording = self._recorder.recording()
        pose, _ = find_pose(recording, self._layout, self._performer, self._limits)
        _say('\arecorded')
        return pose

    def motion(self) -> MotionRecording:
        """Return the range of motion; it ends when all joints have moved enough."""
        _say(MOTION_PROMPT)
        recorder = self._recorder
        recorder.restart()
        while recorder.duration_s < MAX_MOTION_S:
            self._record(recorder.duration_s + REPORT_S)
            complaints: list[str] = []
            done, total = left_to_move(recorder.recording(), self._layout, complaints.append)
            _say(f'{recorder.duration_s:3.0f} s: {done} of {total} joints have moved enough')
            if recorder.duration_s >= MOTION_S:
                if not complaints:
                    break
                _say(f'  {complaints[0]}')
        _say('\arecorded')
        return recorder.recording()

    def _record(self, until_s: float) -> None:
        while self._recorder.duration_s < until_s:
            self.spin_for(0.05)
            self.require_input()


def retried(session: LiveSession) -> PoseRecording:
    """Return the T-pose, asked for again if it was none; CalibrationError why not at last."""
    for _ in range(2):
        try:
            return session.pose()
        except CalibrationError as err:
            _say(f'again, please: {err}')
    return session.pose()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
