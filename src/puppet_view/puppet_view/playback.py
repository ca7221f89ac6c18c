# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Time in a clip viewer: it runs at some speed, stands, is set, and begins again at the end."""

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0)


class Playback:
    """The present time of clips that are shown together."""

    def __init__(self, n_frames: int, rate_hz: float) -> None:
        self._n_frames = n_frames
        self._rate_hz = rate_hz
        self._frames = 0.0
        self.is_playing = False
        """Whether time runs."""
        self.speed = 1.0
        """Seconds of the clip in a second."""

    @property
    def frame(self) -> int:
        """Return the present frame."""
        return int(self._frames)

    @property
    def time_s(self) -> float:
        """Return the present frame's time in the clip [s]."""
        return self.frame / self._rate_hz

    def seek(self, frame: int) -> None:
        """Go to a frame, or to the nearest that there is."""
        self._frames = float(min(max(frame, 0), self._n_frames - 1))

    def step(self, elapsed_s: float) -> int:
        """Let time run, if it does, and return the frame; after the last comes the first."""
        if self.is_playing:
            self._frames = (self._frames + self.speed * elapsed_s * self._rate_hz) % self._n_frames
        return self.frame

    def set_length(self, n_frames: int) -> None:
        """Go on with another number of frames."""
        self._n_frames = n_frames
        self.seek(self.frame)
