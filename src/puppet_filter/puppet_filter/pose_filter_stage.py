# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the node pose_filter and the replay do with a frame: arrays in, a message's bytes out."""

from puppet_core.sensor_frames import FilteredFrame, SensorFrame
from puppet_filter.parameters import Tuning
from puppet_filter.pose_filter import PoseFilter
from puppet_ros.pose_frame import PoseFrameWriter


class PoseFilterStage:
    """
    The filter with the message it fills.

    Parameters
    ----------
    tuning : Tuning
        Parameters and noise.

    """

    def __init__(self, tuning: Tuning) -> None:
        self.filter = PoseFilter(*tuning)
        self.frame_id = ''
        """Frame of the poses of the last step."""
        self._tuning = tuning
        self._key: tuple[tuple[str, ...], str] = ((), '')
        self._writer = PoseFrameWriter(*self._key)

    def configure(self, tuning: Tuning) -> None:
        """Take new tuning; the states stay."""
        self._tuning = tuning
        self.filter.configure(*tuning)

    def step(self, frame: SensorFrame, frame_id: str) -> FilteredFrame | None:
        """Return the filtered frame, or None for a stamp that repeats or goes back."""
        self.frame_id = frame_id or self._tuning.parameters.frame_id
        return self.filter.step(frame)

    def data(self, filtered: FilteredFrame) -> bytes:
        """Return the bytes of the message of the last step."""
        return self._writer_of(filtered).data(filtered)

    def _writer_of(self, filtered: FilteredFrame) -> PoseFrameWriter:
        key = (filtered.sensors, self.frame_id)
        if key != self._key:
            self._writer, self._key = PoseFrameWriter(*key), key
        return self._writer
