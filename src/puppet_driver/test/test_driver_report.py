# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What diagnostics say: losses by kind, the cause of an outage, faulty sensors, another rate."""

from types import SimpleNamespace

from device_start import burst, start
from driver_session import driver_config
from puppet_driver.devices.line import LineState, LineStatus
from puppet_driver.devices.polhemus import Fastrak, FastrakAscii, Liberty, NO_ERROR, PolhemusConfig
from puppet_driver.driver import make_reader, Reporter
from puppet_driver.emulator.polhemus_simulator import FastrakSimulator, LibertySimulator
from puppet_driver.tracker import StreamCounters, TrackerRecord
import pytest

GIVEN = {'device': 'mock', 'ports': ['p', 'q'], 'sensors': ['a', 'b'], 'rate_hz': 120.0}
POLHEMUS = PolhemusConfig(('pelvis', 'left_hand'))
PERIOD_NS = 8_333_333
START_NS = 10**18
A = ord('A')
GONE, SILENT, MISSING = 'p: got the end', 'p: got none for 0.5 s', 'p: no such file'


class Desk:
    def __init__(self):
        config = driver_config(**GIVEN)
        self.reader = make_reader(config, lambda _: None, lambda *_: None)
        self.reporter = Reporter(config)
        self.tick = 0
        self.stand()

    def stand(self, state=LineState.STREAMING, cause='', error='', said=''):
        zero = StreamCounters()
        errors = (said,) if said else ()
        first = LineStatus('p', state, error or cause, 1, zero, ('a note',), cause, errors)
        other = LineStatus('q', LineState.STREAMING, '', 1, zero)
        self.reader.lines = tuple(SimpleNamespace(status=s) for s in (first, other))

    def poll(self):
        return self.reporter.poll(self.reader)

    def play(self, ticks, lines=(0, 1), rate_hz=120.0):
        for _ in range(ticks):
            self.tick += 1
            now_ns = START_NS + round(self.tick * 1e9 / rate_hz)
            for line in lines:
                record = TrackerRecord(0, now_ns, (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
                self.reader.assembler.add(line, [record])
            while self.reader.assembler.take(now_ns):
                pass


@pytest.fixture
def desk():
    return Desk()


def test_frames_with_missing_sensors_are_not_drops(desk):
    desk.play(10)
    desk.poll()
    desk.play(5, lines=(0,))
    desk.play(5)
    report = desk.poll()
    n_incomplete = int(report.values['incomplete_frames'])
    assert n_incomplete > 0 and report.drops == {'stalled': 0}
    assert report.warnings == (f'{n_incomplete} incomplete frames in the last second',)
    assert desk.poll().warnings == ()


def test_frames_that_a_stall_cost_are_drops(desk):
    run = make_reader(driver_config(**GIVEN), lambda _: None, lambda *_: None)
    desk.reader = run
    run._skip_backlog(0, 10 * PERIOD_NS)
    assert desk.poll().drops['stalled'] == 0  # before the lines have begun together
    run._has_gathered = True
    run._skip_backlog(0, 10 * PERIOD_NS)
    report = desk.poll()
    assert report.drops['stalled'] == 10 and report.values['stalls'] == 2
    assert desk.poll().drops['stalled'] == 0


def test_the_cause_of_an_outage_outlasts_what_follows_from_it(desk):
    desk.stand(LineState.CLOSED, GONE)
    report = desk.poll()
    assert report.values['last_error'] == GONE and report.errors == (GONE,)
    desk.stand(LineState.CLOSED, GONE, MISSING)
    desk.reporter.record_error('frame not published')
    report = desk.poll()
    assert report.values['last_error'] == report.values['p last_error'] == GONE
    assert report.values['p last_attempt'] == MISSING
    assert report.errors == (f'{GONE}; now no such file',)
    desk.stand(LineState.STREAMING, GONE, MISSING)
    report = desk.poll()
    assert report.values['last_error'] == GONE and not report.errors
    # recovered: what comes now is news
    desk.reporter.record_error('frame not published')
    assert desk.poll().values['last_error'] == 'frame not published'
    desk.stand(LineState.CLOSED, SILENT)
    assert desk.poll().values['last_error'] == SILENT


def test_message_of_the_device_stands_with_its_sensor(desk):
    desk.play(10)
    desk.stand(said="error 'A'")
    report = desk.poll()
    assert report.values['sensor a'] == "ok; error 'A'" and report.values['sensor b'] == 'ok'
    assert report.warnings == ("a: error 'A'",)


@pytest.mark.parametrize('line', [Fastrak(POLHEMUS), FastrakAscii(POLHEMUS), Liberty(POLHEMUS)])
def test_error_characters_in_polhemus_records_are_put_into_words(line):
    device = LibertySimulator(2) if isinstance(line, Liberty) else FastrakSimulator(2)
    start(line, device)
    stream = line.open_stream()
    script = (
        (0, NO_ERROR, 6, ''),
        (1, A, 1, ''),
        (1, NO_ERROR, 1, ''),
        (2, A, 2, "error 'A' of the"),
        (6, NO_ERROR, 9, "error 'A' of the"),
        (7, NO_ERROR, 1, ''),
    )
    for time_s, error, n_ticks, text in script:
        device.error = error
        records = burst(device)
        for _ in range(n_ticks):
            stream.feed(records, time_s * 10**9)
        stream.flush()
        assert stream.counters.records > 0
        assert all(stream.sensor_error(i).startswith(text) for i in range(2))
        assert bool(stream.sensor_error(0)) == bool(text)


@pytest.mark.parametrize('rate_hz, text', [(60.0, '60.0'), (240.0, '240.0'), (132.0, '132.0')])
def test_another_rate_than_configured_is_reported(desk, rate_hz, text):
    desk.play(400, rate_hz=rate_hz)
    expected = f'the device runs at {text} Hz, rate_hz says 120; set rate_hz to'
    assert any(warning.startswith(expected) for warning in desk.poll().warnings)
    assert desk.reader.assembler.period_ns == pytest.approx(1e9 / rate_hz, rel=1e-3)
