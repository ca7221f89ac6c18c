# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One publisher at a time on a stream, and what its subscriber can say of it (no ROS in here).

Frames are numbered, and their stamps follow the numbers. A message that does not continue the
stream that is followed comes from another publisher: it is refused while the followed one lives,
and taken when that has been silent for a moment. So a second tracker neither disturbs the first
nor is missed when that one dies. The middleware could tell publishers apart, but rclpy's events
executor has no way to hand that on.

"""

TAKEOVER_NS = 250_000_000  # silence after which another publisher may have the place
MOST_LOST = 256  # frames of one publisher that may be lost on the way: more is another one
SILENT_S = 1.0
BACK_NS = 500_000_000  # more than messages of a stream ever overtake each other
FORWARD_NS = 1_500_000_000  # more than the stamps may be ahead of the arrivals
PERIOD_SHARE = 0.1  # of each new interval in the running mean
N_LEARNT = 16  # intervals after which the mean is believed
JITTER_STEP = 0.01  # of the period, by which the median of the jitter is followed
LEAD_STEP = 0.01  # of the period, by which it is forgotten how early a message came
EARLY = 0.5  # of the period: by so much a message may come earlier than any lately
GRID_SHARE = 0.1  # of a stamp's error by which the moments are moved that are expected
RUN, RUN_LOST = 3, 3  # refused in a row, each at most so many numbers on, which are the stream
NEAR = 0.08  # of the period: a stamp without jitter is not further from its moment
OTHER_NS = 1_000_000_000  # another publisher that was heard is about for so long


class InputWatch:
    """
    Watches the messages on one topic.

    Parameters
    ----------
    topic : str
        As it is to be named.

    """

    def __init__(self, topic: str) -> None:
        self.topic = topic
        """Name of the topic."""
        self._index = self._stamp_ns = 0
        self._arrival_ns: int | None = None
        # of the followed stream's stamps: mean interval, median deviation from it, intervals seen
        self._period_ns = self._jitter_ns = 0.0
        self._near_ns = 0.0  # how far from its moment a stamp of this stream is at most, mostly
        self._n_intervals = 0
        self._lead_ns = 0.0  # of the stamps over the arrivals, the most of late
        self._grid_ns = 0.0  # when the last stamp would have been by those before it
        self._run, self._run_step = 0, 0  # refused in a row, and the last one's number from here
        self._refused_index = -1  # the highest since the last one taken
        self._is_sure = False  # that the last stamp was of its moment
        self._n_others = self._n_unfit = 0  # refused: by their numbers, by their stamps alone
        self._strict_until_ns = 0  # another publisher is about
        self._set_back_ns = 0
        self._set_forward_ns = 0

    def takes(self, stamp_ns: int, index: int, now_ns: int) -> bool:
        """
        Return whether a message is of the stream that is followed, or may begin another one.

        Parameters
        ----------
        stamp_ns : int
            Its stamp [ns].
        index : int
            Its frame index.
        now_ns : int
            Steady time of its arrival [ns].

        """
        if self._arrival_ns is None or now_ns - self._arrival_ns > TAKEOVER_NS:
            return True
        step, step_ns = index - self._index, stamp_ns - self._stamp_ns
        if step == 1 and abs(step_ns - self._period_ns) < self._near_ns:
            return True  # nearly always
        if self._continues(step, step_ns, now_ns) or self._is_run(step, step_ns):
            return True
        if 0 < step <= MOST_LOST:
            self._n_unfit += 1
            self._refused_index = max(self._refused_index, index)
        else:
            self._n_others += 1
            self._strict_until_ns = now_ns + OTHER_NS
        return False

    def follow(self, stamp_ns: int, index: int, now_ns: int) -> None:
        """Go on from a message that the watch takes and that could be read; all as in takes."""
        lead_ns = float(stamp_ns - now_ns)
        if index <= self._refused_index:  # what was refused was not of this publisher
            self._strict_until_ns = now_ns + OTHER_NS
        self._refused_index = -1
        if self._arrival_ns is not None:
            step, step_ns = index - self._index, stamp_ns - self._stamp_ns
            self._is_sure = abs(step_ns - step * self._period_ns) < self._near_ns
            passed_ns = now_ns - self._arrival_ns
            if passed_ns > TAKEOVER_NS and not self._continues(step, step_ns, now_ns):
                self._forget()
            self._look_at_clock(step, step_ns, passed_ns)
            if step == 1 and 0 < step_ns < TAKEOVER_NS:
                self._learn(step_ns)
            if abs(step_ns - passed_ns) < TAKEOVER_NS:  # the same clock as before
                lead_ns = max(lead_ns, self._lead_ns - LEAD_STEP * self._period_ns)
        self._lead_ns = lead_ns
        self._move_grid(stamp_ns, index)
        self._run, self._run_step = 0, 0
        self._index, self._stamp_ns, self._arrival_ns = index, stamp_ns, now_ns

    def causes(self, now_ns: int) -> list[str]:
        """Return what is to be said of the time since the last call, as sentences."""
        found = []
        age_s = (now_ns - self._arrival_ns) * 1e-9 if self._arrival_ns is not None else 0.0
        if age_s > SILENT_S:
            found.append(f'no input on {self.topic} for {age_s:.1f} s')
        if self._n_others:
            found.append(
                f'another publisher on {self.topic}: {self._n_others + self._n_unfit} of its '
                'messages refused'
            )
        elif self._n_unfit:
            found.append(
                f'stamps on {self.topic} that do not fit their numbers, of a clock that stutters '
                f'or another publisher: {self._n_unfit} messages refused'
            )
        for way_ns, word in ((self._set_back_ns, 'back'), (self._set_forward_ns, 'forward')):
            if way_ns:
                found.append(f'clock stepped {word} by {way_ns * 1e-9:.1f} s on {self.topic}')
        self._n_others = self._n_unfit = self._set_back_ns = self._set_forward_ns = 0
        return found

    def _continues(self, step: int, step_ns: int, now_ns: int) -> bool:
        """Return whether a step of index and stamp [ns] is one of the followed stream."""
        if step == 0:
            # repeated; or a publisher that does not number its frames
            return step_ns == 0 or self._index == 0
        if not 0 < step <= MOST_LOST:
            return False
        if self._n_intervals < N_LEARNT and (step == 1 or not self._n_intervals):
            return True
        # lost frames have left their time; those of another publisher have not
        period_ns = self._period_ns
        error_ns = abs(step_ns - step * period_ns)
        if self._n_intervals >= N_LEARNT:  # one late stamp does not make the next ones early
            off_grid_ns = self._stamp_ns + step_ns - self._grid_ns - step * period_ns
            error_ns = min(error_ns, abs(off_grid_ns))
        if now_ns < self._strict_until_ns and self._n_intervals >= N_LEARNT:
            # its numbers may be the next ones; its stamps are of other moments
            return error_ns < self._near_ns * (0.75 + 0.25 * step)
        if step_ns > step * period_ns and self._is_not_early(step_ns, now_ns):
            return True  # the device stood still: nothing that was sent meanwhile came before this
        if step > 1:
            return error_ns < period_ns * (1.0 + 0.25 * step)
        if not self._is_sure and step_ns > 0:
            return True
        # a clock that steps leaves the arrivals as they are; a burst, the stamps
        assert self._arrival_ns is not None
        return (
            error_ns < 0.5 * period_ns + self._near_ns
            or now_ns - self._arrival_ns > 0.75 * period_ns
            or abs(step_ns) > TAKEOVER_NS
        )

    def _is_run(self, step: int, step_ns: int) -> bool:
        """
        Return whether a message that is refused ends a run of those that are numbered on.

        In their time the followed publisher would have sent too, were it another one and alive.

        """
        is_next = 0 < step - self._run_step <= RUN_LOST
        self._run, self._run_step = (self._run + 1, step) if is_next else (0, 0)
        return self._run >= RUN and step_ns > (RUN - 1) * self._period_ns

    def _move_grid(self, stamp_ns: int, index: int) -> None:
        expected_ns = self._grid_ns + (index - self._index) * self._period_ns
        error_ns = stamp_ns - expected_ns
        is_jitter = abs(error_ns) < self._period_ns
        self._grid_ns = expected_ns + GRID_SHARE * error_ns if is_jitter else float(stamp_ns)

    def _is_not_early(self, step_ns: int, now_ns: int) -> bool:
        """Return whether a message, whose stamp is this later, came after its time [ns]."""
        lead_ns = self._stamp_ns + step_ns - now_ns
        return lead_ns <= self._lead_ns + EARLY * self._period_ns

    def _learn(self, step_ns: int) -> None:
        """Follow the interval of the stamps [ns], no faster than outliers allow."""
        n, period_ns = self._n_intervals + 1, self._period_ns
        self._n_intervals = n
        error_ns = step_ns - period_ns
        if n <= N_LEARNT:
            self._period_ns += error_ns / n
        elif -0.5 * period_ns < error_ns < 0.5 * period_ns:
            self._period_ns += PERIOD_SHARE * error_ns
        else:
            self._period_ns *= 1.0 + 0.5 * (PERIOD_SHARE if error_ns > 0.0 else -PERIOD_SHARE)
        jitter_ns, way_ns = self._jitter_ns, JITTER_STEP * period_ns
        if error_ns > jitter_ns or -error_ns > jitter_ns:
            self._jitter_ns = jitter_ns + way_ns
        elif jitter_ns > way_ns:
            self._jitter_ns = jitter_ns - way_ns
        self._near_ns = NEAR * period_ns + 3.0 * self._jitter_ns

    def _forget(self) -> None:
        """Know nothing of the stream to come."""
        self._period_ns = self._jitter_ns = self._near_ns = 0.0
        self._n_intervals = self._strict_until_ns = 0

    def _look_at_clock(self, step: int, step_ns: int, passed_ns: int) -> None:
        # what is numbered on was sent later, however little its stamp goes back
        if step_ns < (0 if step == 1 else -BACK_NS):
            self._set_back_ns = max(self._set_back_ns, -step_ns)
        elif step_ns - passed_ns > FORWARD_NS:
            self._set_forward_ns = max(self._set_forward_ns, step_ns - passed_ns)
