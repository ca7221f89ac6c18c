# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Commands by a connection and data by datagrams, over real sockets."""

import numpy as np
from puppet_core.io import ConfigError
from puppet_driver.devices.birdnet import decode_header, Message
from puppet_driver.devices.line import LineState
from puppet_driver.devices.motionstar import has_datagrams, parse_way
import pytest
from test_motionstar_reader import names, serve, session  # noqa: F401


def test_commands_go_by_tcp_and_data_comes_by_udp(serve, session, wait_until):  # noqa: F811
    server = serve()
    cable = server.lines[0].pty
    heard: dict[str, list[Message]] = {'stream': [], 'datagram': []}
    for kind, messages in heard.items():
        receive = getattr(cable, f'_receive_{kind}')

        def listen(receive=receive, messages=messages) -> bytes:
            data = receive()
            messages += [decode_header(data).message] if data else []
            return data

        setattr(cable, f'_receive_{kind}', listen)
    sent = []
    send = cable._send_datagram
    cable._send_datagram = lambda data, peer: (sent.append(data), send(data, peer))
    run = session(names(server, 'tcp+udp'))
    assert wait_until(run.has(60))
    assert heard['datagram'] == [Message.RUN_CONTINUOUS]
    assert {Message.WAKE_UP, Message.GET_STATUS, Message.SEND_SETUP} <= set(heard['stream'])
    assert [decode_header(data).message for data in sent[:3]] == [
        Message.RUN_CONTINUOUS_ANSWER,
        Message.DATA,
        Message.DATA,
    ]
    assert np.isfinite(run.frames[-1][1]).all()
    run.reader.stop()
    assert wait_until(lambda: not server.lines[0].device.is_streaming)
    assert heard['stream'][-1] is Message.STOP_DATA


def test_the_end_of_the_connection_is_noticed_under_a_stream_of_datagrams(
    serve,  # noqa: F811
    session,  # noqa: F811
    wait_until,
):
    server = serve()
    run = session(names(server, 'tcp+udp'))
    assert wait_until(run.has(20))
    server.lines[0].pty._client.shutdown(2)
    assert wait_until(run.said('got the end of the connection'))
    assert wait_until(run.has(20)) and run.reader.lines[0].state is LineState.STREAMING


def test_a_way_is_a_scheme_a_host_and_a_number():
    assert parse_way('tcp+udp://10.0.0.7') == ('tcp+udp', '10.0.0.7', 6000)
    assert [has_datagrams(f'{s}://h') for s in ('tcp', 'udp', 'tcp+udp')] == [False, True, True]


@pytest.mark.parametrize('name', ['udp+tcp://h', '/dev/ttyUSB0', 'tcp+udp://', 'tcp+udp://h:x'])
def test_other_names_are_refused(name):
    with pytest.raises(ConfigError, match='ports: expected'):
        parse_way(name)
