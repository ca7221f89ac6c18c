# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Frames between the thread that reads the lines and their consumer.

A consumer that is held up must not hold up the reading, or the ports' own buffers overflow and
lose the newest bytes. So frames wait here, a bounded number, for a thread that hands them on;
when the number is reached the oldest goes, and is counted. But a change of threads can take
longer than all the rest, so the reading thread hands frames on itself while the consumer is
prompt, and leaves it to the other one from the first frame that took too long.

"""

from collections import deque
from collections.abc import Callable
import threading
import time

from puppet_driver.frames.assembler import QueuedFrame

QUEUED_FRAMES = 32  # a quarter of a second at 120 Hz
SLOW_S = 0.005  # half a period of the fastest devices
PROMPT_FRAMES = 120  # in a row, until the reading thread trusts the consumer again
JOIN_TIMEOUT_S = 2.0


class FrameQueue:
    """
    A bounded queue with a thread that empties it, for one run of a reader.

    What is put after its end is forgotten, and so is what waits when a consumer is so held up
    that the thread does not end in time.

    Parameters
    ----------
    on_frame : callable
        Called with each frame, one after the other, in the thread that puts it or in the
        queue's; what it raises ends that thread.
    capacity : int
        How many frames may wait.
    slow_s : float
        From when on a consumer is held up; 0 never calls it in the thread that puts [s].

    """

    def __init__(
        self,
        on_frame: Callable[[QueuedFrame], None],
        capacity: int = QUEUED_FRAMES,
        slow_s: float = SLOW_S,
    ) -> None:
        self.dropped = 0
        self.deepest = 0
        """Most frames that have waited at once since this was last set to 0."""
        self.failure: BaseException | None = None
        self._on_frame = on_frame
        self._capacity = capacity
        self._slow_s = slow_s
        self._n_prompt = PROMPT_FRAMES if slow_s > 0.0 else 0
        self._is_busy = False
        self._frames: deque[QueuedFrame] = deque()
        self._changed = threading.Condition()
        self._is_open = False
        self._thread = threading.Thread(target=self._run, name='tracker_frames', daemon=True)

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def is_alive(self) -> bool:
        """Whether the thread has not ended."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to hand frames on; a queue is started once."""
        self._is_open = True
        self._thread.start()

    def stop(self, timeout_s: float = JOIN_TIMEOUT_S) -> bool:
        """Hand on what waits and end the thread; return whether it has; harmless if not begun."""
        with self._changed:
            self._is_open = False
            self._changed.notify()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(timeout_s)
        with self._changed:
            self._frames.clear()
        return not self._thread.is_alive()

    def put(self, frame: QueuedFrame) -> None:
        """Hand a frame on, or let it wait and drop the oldest if too many do."""
        with self._changed:
            if not self._is_open:
                return
            is_idle = not self._frames and not self._is_busy
        # no other thread puts, so the queue's stays idle meanwhile
        if is_idle and self._n_prompt >= PROMPT_FRAMES:
            self._hand_on(frame)
            return
        with self._changed:
            if len(self._frames) >= self._capacity:
                self._frames.popleft()
                self.dropped += 1
            self._frames.append(frame)
            self.deepest = max(self.deepest, len(self._frames))
            self._changed.notify()

    def _hand_on(self, frame: QueuedFrame) -> None:
        start_s = time.monotonic()
        self._on_frame(frame)
        is_prompt = time.monotonic() - start_s < self._slow_s
        self._n_prompt = min(self._n_prompt + 1, PROMPT_FRAMES) if is_prompt else 0

    def _run(self) -> None:
        try:
            while True:
                with self._changed:
                    self._is_busy = False
                    while not self._frames:
                        if not self._is_open:
                            return
                        self._changed.wait()
                    frame = self._frames.popleft()
                    self._is_busy = True
                self._hand_on(frame)
        except BaseException as err:
            self.failure = err
            raise
