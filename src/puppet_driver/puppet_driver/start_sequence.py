# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Leading a device through its start, one exchange after another, without ever blocking."""

from puppet_driver.link import Port
from puppet_driver.tracker import Exchange, Exchanges


class StartSequence:
    """
    Runs a device's exchanges on a port, told the time and what arrives.

    Each step returns whether the device has been started; what the device does wrong comes
    out as the error that its exchanges raise. `deadline_ns` is when `on_time` is due.

    """

    def __init__(self, exchanges: Exchanges, port: Port) -> None:
        self.deadline_ns = 0
        self.notes: list[str] = []
        """What the device's exchanges have noted."""
        self._exchanges = exchanges
        self._port = port
        self._exchange = Exchange()
        self._reply = b''
        self._is_pausing = False

    def begin(self, now_ns: int) -> bool:
        """Say the first thing."""
        return self._proceed(None, now_ns)

    def on_bytes(self, data: bytes, now_ns: int) -> bool:
        """Take what has arrived."""
        if self._is_pausing:
            return False
        self._reply += data
        wanted = self._exchange.wanted_bytes(self._reply)
        if len(self._reply) < wanted:
            return False
        self._reply = self._reply[:wanted]
        return self.on_time(now_ns)

    def on_time(self, now_ns: int) -> bool:
        """Go on after an answer, a timeout or a pause."""
        if not self._is_pausing and self._exchange.pause_s > 0.0:
            self._is_pausing = True
            self.deadline_ns = now_ns + round(1e9 * self._exchange.pause_s)
            return False
        return self._proceed(self._reply, now_ns)

    def close(self) -> None:
        """Give up; harmless at the end."""
        self._exchanges.close()

    def _proceed(self, reply: bytes | None, now_ns: int) -> bool:
        while True:
            try:
                exchange = self._exchanges.send(reply)  # type: ignore[arg-type]
            except StopIteration:
                return True
            if exchange.note:
                self.notes.append(exchange.note)
            self._say(exchange, now_ns)
            if exchange.reply_bytes or exchange.pause_s > 0.0:
                return False
            reply = b''

    def _say(self, exchange: Exchange, now_ns: int) -> None:
        self._exchange = exchange
        self._reply = b''
        self._is_pausing = exchange.reply_bytes == 0
        if exchange.reply_bytes:
            self._port.discard_input()
        self._port.write(exchange.command)
        wait_s = exchange.pause_s if self._is_pausing else exchange.timeout_s
        self.deadline_ns = now_ns + round(1e9 * wait_s)
