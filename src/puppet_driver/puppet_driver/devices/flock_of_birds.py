# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
One line of a Flock of Birds or MotionStar as a Tracker: how to start it, check it, stop it.

Starting follows the device's manual: stop, see that something answers, configure the bus,
put the address byte on each record, choose format and hemisphere of every unit, check the
units' status, stream. A bus that still is as we left it is not configured again, for that
takes longer than all the rest. If each unit has a line of its own, the master's configures the
bus, without which no other unit runs, and the others wait for it. Everything that can be wrong
is said in one sentence; a unit that lost its sensor is only noted, the others stream.

"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass

from puppet_core.body import FASTEST_M_S
from puppet_core.io import ConfigError
from puppet_driver.devices import flock_protocol as flock
from puppet_driver.devices.decoding import Reach
from puppet_driver.devices.flock_records import PhasedRecordStream
from puppet_driver.errors import LinkTimeout, ProtocolError
from puppet_driver.tracker import Exchange, Exchanges, Tracker
from puppet_driver.transport import check_bandwidth

START_ATTEMPTS = 3  # a device that was streaming may swallow the first command
STOP_PAUSE_S = 0.1
SETTLE_PAUSE_S = 0.05  # between commands that the device works on
MASTER_PAUSE_S = 0.1  # between polls whether the bus has been configured
MASTER_WAIT_S = 2.0  # beyond the time that it takes

NO_SENSOR = 'a unit without a sensor'

Steps = Generator[Exchange, bytes, None]


@dataclass(frozen=True, slots=True)
class FlockConfig:
    """What is on one line."""

    sensors: tuple[str, ...]
    """Names of its sensors, in the order of their bus addresses."""

    first_address: int = 2
    """Bus address of the first; lower ones are transmitter controllers without a sensor."""

    range_in: int = 144
    """Full scale of positions [inch]."""

    hemisphere: str = 'front'
    """Side of the transmitter the sensors stay on, a key of HEMISPHERES."""

    inverted_quaternion: bool = False
    """Whether the device reports inverse rotations."""

    group_mode: bool = True
    """Whether records carry their unit's address; without it a line has one sensor."""

    n_all_sensors: int = 0
    """Sensors of all lines."""

    port: str = ''
    """Name of the line's port."""

    record_format: str = 'position_quaternion'
    """What records hold, one of POSE_FORMATS."""

    max_speed_mps: float = FASTEST_M_S
    """Speed beyond which a record needs to be confirmed [m/s]."""

    point_mode: bool = False
    """Whether each measurement is asked for; else the device streams."""

    rate_hz: float = 120.0
    """Records a second of each sensor; how often it is asked in point mode [Hz]."""

    baud_rate_bps: int = 115200
    """Only for the text of errors."""

    auto_configure_pause_s: float = 0.6
    """Rest after the bus has been configured; sources state 0.3 to 10 s."""

    reply_timeout_s: float = 0.5
    """How long to await an answer [s]."""

    @property
    def addresses(self) -> tuple[int, ...]:
        """Bus addresses of the sensors."""
        return tuple(range(self.first_address, self.first_address + len(self.sensors)))

    @property
    def n_units(self) -> int:
        """Without group mode: units on the bus, the transmitter's too, of which one is here."""
        return 0 if self.group_mode else self.first_address - 1 + self.n_all_sensors


class FlockOfBirds(Tracker):
    """The device on one line."""

    Config = FlockConfig
    title = 'Flock of Birds'

    @property
    def record_bytes(self) -> int:
        """Size of a record on the line."""
        command = flock.FORMAT_COMMANDS[self._config.record_format]
        return 2 * flock.RECORD_FORMATS[command].n_words + int(self._config.group_mode)

    def check(self, ports: tuple[str, ...], sensors_per_line: tuple[int, ...]) -> None:
        """Refuse formats without a pose, unknown ranges and more sensors than a line carries."""
        config = self._config
        problem = flock.format_problem(config.record_format)
        if problem:
            raise ConfigError(
                f'record_format: expected one of {", ".join(flock.POSE_FORMATS)}, '
                f'got {config.record_format!r}, {problem}'
            )
        if config.range_in not in flock.RANGES_IN:
            raise ConfigError(f'range_in: expected one of 36, 72, 144, got {config.range_in}')
        if not config.group_mode and self.n_sensors > 1:
            raise ConfigError(
                f'group_mode: expected true for {sum(sensors_per_line)} sensors on '
                f'{len(ports)} port(s), got false, which needs a port for each'
            )
        last = config.addresses[-1]
        if last > flock.MAX_ADDRESS:
            raise ConfigError(
                f'first_address: expected addresses up to {flock.MAX_ADDRESS}, got {last}'
            )
        check_bandwidth(sensors_per_line, config.baud_rate_bps, self.record_bytes, config.rate_hz)

    def stop_command(self) -> bytes:
        """Return the bytes that end streaming."""
        return flock.STREAM_STOP

    def open_stream(self) -> PhasedRecordStream:
        """Return a decoder in its initial state."""
        config = self._config
        addresses = config.addresses if config.group_mode else ()
        command = flock.FORMAT_COMMANDS[config.record_format]
        reach = Reach(config.rate_hz, config.max_speed_mps)
        return PhasedRecordStream(
            addresses, config.range_in, config.inverted_quaternion, command, reach
        )

    @property
    def poll_command(self) -> bytes:  # type: ignore[override]
        """Return the bytes that ask for one measurement of all units, if they do not stream."""
        return flock.POINT if self._config.point_mode else b''

    @property
    def poll_period_s(self) -> float:  # type: ignore[override]
        """How long there is from one to the next [s]."""
        return 1.0 / self._config.rate_hz

    def start_exchanges(self) -> Exchanges:
        """Yield the steps from any state to streaming; see Tracker."""
        config = self._config
        word = yield from self._find_device()
        if config.group_mode and not (yield from self._is_configured()):
            yield self._auto_configure(config.addresses[-1])
            command = flock.change(flock.GROUP_MODE, [1])
            yield Exchange(command, pause_s=SETTLE_PAUSE_S)
        if not config.group_mode and config.n_units > 1:
            yield from self._join_bus(word)
        for address in config.addresses:
            yield Exchange(self._unit_commands(address))
        yield Exchange(pause_s=SETTLE_PAUSE_S)
        if config.group_mode:
            yield from self._check_units()
        yield from self._check_error()
        if not config.point_mode:
            yield Exchange(flock.STREAM)

    def _auto_configure(self, n_units: int) -> Exchange:
        command = flock.change(flock.AUTO_CONFIGURE, [n_units])
        return Exchange(command, pause_s=self._config.auto_configure_pause_s)

    def _join_bus(self, word: int) -> Steps:
        """Configure the bus if the unit here is its master, else wait until that is done."""
        config = self._config
        if word & flock.STATUS_MASTER:
            units = yield from self._unit_flags()
            if not _all_run(units[: config.n_units]):
                yield self._auto_configure(config.n_units)
            return
        wait_s = MASTER_WAIT_S + config.auto_configure_pause_s
        for _ in range(round(wait_s / MASTER_PAUSE_S)):
            status = yield self._examine(flock.STATUS)
            if len(status) == 2 and flock.little_endian(status) & flock.STATUS_RUNNING:
                return
            yield Exchange(pause_s=MASTER_PAUSE_S)
        raise ProtocolError(
            f'expected a unit that runs, got none ({config.sensors[0]}); the unit at address 1 '
            'configures the bus: check that its port is one of ports, and the bus cable, or set '
            'group_mode'
        )

    def _find_device(self) -> Generator[Exchange, bytes, int]:
        config = self._config
        for _ in range(START_ATTEMPTS):
            # noise on the line may have been an XOFF, which would silence answers too
            yield Exchange(flock.XON + flock.STREAM_STOP, pause_s=STOP_PAUSE_S)
            status = yield self._examine(flock.STATUS)
            if len(status) == flock.VALUE_BYTES[flock.STATUS] and _is_status(status):
                break
        else:
            got = f'{len(status)} byte(s) of a status' if status else 'nothing'
            raise LinkTimeout(
                f'expected a {self.title} to answer at {config.baud_rate_bps} bps, got {got}; '
                'check its power, the cable, the FLY switch and the baud rate switches'
            )
        word = flock.little_endian(status)
        if word & flock.STATUS_SLEEPING:
            yield Exchange(flock.RUN, pause_s=SETTLE_PAUSE_S)
        if word & flock.STATUS_ERROR:
            # reading the code clears it: it is older than this start and no obstacle
            code = yield self._examine(flock.ERROR_CODE)
            if code:
                text = flock.error_text(code[0])
                yield Exchange(note=f'before this start the device had {text}')
        return word

    def _is_configured(self) -> Generator[Exchange, bytes, bool]:
        """Return whether group mode is on and all our units run."""
        mode = yield self._examine(flock.GROUP_MODE)
        if mode != b'\x01':
            return False
        units = yield from self._unit_flags()
        return _all_run(units[a - 1] if a <= len(units) else 0 for a in self._config.addresses)

    def _unit_commands(self, address: int) -> bytes:
        config = self._config
        prefix = flock.address_prefix(address) if config.group_mode else b''
        record_format = flock.FORMAT_COMMANDS[config.record_format]
        commands = [record_format, flock.set_hemisphere(config.hemisphere)]
        if config.range_in != flock.RANGES_IN[-1]:
            scale = flock.RANGES_IN.index(config.range_in)
            commands.append(flock.change(flock.POSITION_SCALE, [scale, 0]))
        return b''.join(prefix + command for command in commands)

    def _unit_flags(self) -> Generator[Exchange, bytes, bytes]:
        """Return the status byte of each possible unit, cut short if the device does."""
        mode = yield self._examine(flock.ADDRESSING_MODE)
        # firmware too old to know the question has the normal addresses
        n_units = flock.UNITS_OF_ADDRESSING_MODE.get(mode[0] if mode else 0, 14)
        units = yield Exchange(
            flock.examine(flock.FLOCK_STATUS),
            reply_bytes=n_units,
            timeout_s=self._config.reply_timeout_s,
        )
        if len(units) != n_units:
            raise ProtocolError(f'expected the status of {n_units} units, got {len(units)} bytes')
        return units

    def _check_units(self) -> Steps:
        config = self._config
        units = yield from self._unit_flags()
        texts = []
        for address, sensor in zip(config.addresses, config.sensors):
            flags = units[address - 1] if address <= len(units) else 0
            problem = _unit_problem(flags)
            text = (
                f'unit {address} ({sensor}): expected a running sensor, got {problem}; '
                'check its cables, its address switches and first_address'
            )
            if problem == NO_SENSOR:
                texts.append(text)
            elif problem:
                code = yield self._examine(flock.ERROR_CODE)
                says = f'; the device says {flock.error_text(code[0])}' if code else ''
                raise ProtocolError(text + says)
        if len(texts) == len(config.sensors):
            raise ProtocolError(texts[0])
        for text in texts:
            yield Exchange(note=text)

    def _check_error(self) -> Steps:
        status = yield self._examine(flock.STATUS)
        if len(status) != flock.VALUE_BYTES[flock.STATUS]:
            raise ProtocolError(f'expected a status of 2 bytes, got {len(status)}')
        if flock.little_endian(status) & flock.STATUS_ERROR:
            code = yield self._examine(flock.ERROR_CODE)
            text = flock.error_text(code[0]) if code else 'an error it does not name'
            raise ProtocolError(f'expected the device to be ready, got {text}')

    def _examine(self, number: int) -> Exchange:
        return Exchange(
            flock.examine(number),
            reply_bytes=flock.VALUE_BYTES[number],
            timeout_s=self._config.reply_timeout_s,
        )


def _all_run(units: Iterable[int]) -> bool:
    ready = flock.UNIT_ACCESSIBLE | flock.UNIT_RUNNING
    return all(flags & ready == ready for flags in units)


def _unit_problem(flags: int) -> str:
    if not flags & flock.UNIT_ACCESSIBLE:
        return 'no such unit'
    if not flags & flock.UNIT_RUNNING:
        return 'a unit that does not run'
    if not flags & flock.UNIT_HAS_SENSOR:
        return NO_SENSOR
    return ''


def _is_status(reply: bytes) -> bool:
    """Return whether two bytes can be a status word, and not what a wrong speed makes of one."""
    code = flock.little_endian(reply) >> flock.STATUS_FORMAT_SHIFT & flock.STATUS_FORMAT_MASK
    return any(code == known.status_code for known in flock.RECORD_FORMATS.values())
