# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Where a page is served: on this machine only, and an error for any other."""

import socket
from urllib.request import urlopen

from puppet_core.io import ConfigError
import pytest

pytest.importorskip('viser', reason='viser is not installed')

from puppet_view.browser.stage import BrowserStage, PREFERRED_PORT  # noqa: E402,I100


@pytest.mark.parametrize('host', ['192.0.2.77', 'no such host', 'a' * 80])
def test_a_host_that_is_not_here_is_refused(host):
    with pytest.raises(ConfigError, match='--host: expected a name or address of this machine'):
        BrowserStage(host)


def test_a_taken_port_is_not_served_twice():
    with socket.socket() as other:
        try:
            other.bind(('127.0.0.1', PREFERRED_PORT))
        except OSError:
            pass  # somebody else has it, which is as good
        else:
            other.listen()
        stage = BrowserStage('localhost')
        try:
            assert stage.server.get_port() != PREFERRED_PORT
            with urlopen(stage.address, timeout=30.0) as answer:
                assert answer.status == 200
        finally:
            stage.close()
