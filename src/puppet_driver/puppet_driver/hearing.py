# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a sensor of a line sends on, but nothing that is understood: it has to be told again."""

import numpy as np
from puppet_driver.errors import ProtocolError
from puppet_driver.tracker import RecordStream

LEAST_BYTES = 6.0  # a tick that are no record: half of the shortest one


class Hearing:
    """
    Remembers when each sensor of a line was heard last.

    A unit that had no power for a moment comes back in the format it has from the factory. Its
    records are then bytes that mean nothing while the other units' are sound; a sensor that is
    unplugged sends none, and noise spares a record of every sensor now and then.

    Parameters
    ----------
    n_sensors : int
        Sensors of the line.
    silence_s : float
        How long one may be silent [s].

    """

    def __init__(self, n_sensors: int, silence_s: float) -> None:
        self._heard_ns = np.zeros(n_sensors, dtype=np.int64)
        self._silence_ns = round(1e9 * silence_s)
        self.restart(0)

    def restart(self, now_ns: int) -> None:
        """Begin anew, with a stream that has counted nothing."""
        self._heard_ns[:] = -1
        self._since_ns, self._records, self._discarded = now_ns, 0, 0

    def check(self, stream: RecordStream, n_records: int, now_ns: int) -> None:
        """
        Note which sensors the stream's batch has; look after the others now and then.

        Raises
        ------
        ProtocolError : if one was heard before, and there are bytes in the place of its records.

        """
        self._heard_ns[stream.batch.ordinals[:n_records]] = now_ns
        if now_ns - self._since_ns < self._silence_ns:
            return
        counters = stream.counters
        has_begun = self._heard_ns >= 0
        is_mute = has_begun & (now_ns - self._heard_ns > self._silence_ns)
        n_heard = max(int(has_begun.sum() - is_mute.sum()), 1)
        n_ticks = (counters.records - self._records) / n_heard
        n_bytes = counters.discarded_bytes - self._discarded
        self._since_ns, self._records = now_ns, counters.records
        self._discarded = counters.discarded_bytes
        if is_mute.any() and n_bytes > LEAST_BYTES * n_ticks > 0.0:
            number = int(np.flatnonzero(is_mute)[0]) + 1
            raise ProtocolError(
                f'expected records of sensor {number} of this line, got bytes that are none; it '
                'may have lost power and is configured again'
            )
