# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the node performer and the replay do with a frame: arrays in, a message's bytes out."""

from collections.abc import Callable
from pathlib import Path

from puppet_core.arrays import Quat, Vec3
from puppet_core.character import load_character
from puppet_core.sensor_frames import FilteredFrame
from puppet_retarget.performer.calibration import load_calibration
from puppet_retarget.performer.parameters import PerformerConfig
from puppet_retarget.performer.performer_model import PerformerModel
from puppet_retarget.performer.sensor_layout import load_layout
from puppet_retarget.performer.warm_up import warm_up
from puppet_ros import share
from puppet_ros.posture_msg import PostureRecord, PostureWriter, WORLD


class PerformerStage:
    """
    The performer with the place of its tracker and the message it fills.

    Parameters
    ----------
    config : PerformerConfig
        Performer, layout, tuning.
    lookup : callable
        Returns where a frame stands in another, or None, as StaticTransformTree.lookup.
    date : callable
        Returns the date and time for a calibration made now.

    """

    def __init__(
        self, config: PerformerConfig,
        lookup: Callable[[str, str], tuple[Vec3, Quat] | None], date: Callable[[], str],
    ) -> None:  # fmt: skip
        self.character = load_character(share.character_file(config.performer))
        layout = load_layout(share.layout_file(config.layout))
        warm_up(self.character.skeleton)
        self.model = PerformerModel(self.character, layout, config, date)
        self.tracker_frame = ''
        """Frame of the sensors; '' while it is not known where that stands."""
        self._lookup = lookup
        self._leg_length = self.character.skeleton.leg_length
        self._writer = PostureWriter(self.character.name, self._leg_length)

    def load_calibration(self, config: PerformerConfig) -> bool:
        """Take the calibration of the config's file; return whether there is one."""
        path = Path(config.calibration_file).expanduser()
        if not config.calibration_file or not path.is_file():
            return False
        self.model.use(load_calibration(path))
        return True

    def locate(self, tracker_frame: str) -> bool:
        """Look up where the sensors' frame stands; return whether that is known."""
        place = self._lookup(WORLD, tracker_frame)
        if place is None:
            return False
        self.tracker_frame = tracker_frame
        self.model.place_tracker(*place)
        return True

    def step(self, frame: FilteredFrame) -> PostureRecord | None:
        """Return the posture of a frame, or None without a calibration."""
        estimate = self.model.step(frame)
        if estimate is None:
            return None
        return PostureRecord(
            frame.stamp_ns, frame.frame_index, self.character.name, estimate.posture,
            estimate.p_world, estimate.status, self._leg_length,
        )  # fmt: skip

    def data(self, record: PostureRecord) -> bytes:
        """Return the bytes of a posture."""
        return self._writer.data(record)
