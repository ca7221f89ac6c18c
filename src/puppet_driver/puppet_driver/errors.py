# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong between a computer and a tracker, one class per reaction."""

from puppet_core.io import PuppetError


class LinkError(PuppetError):
    """A port cannot be opened or has gone away; trying again later can help."""


class LinkTimeout(LinkError, TimeoutError):
    """The port is open but nothing answers, or the stream has fallen silent."""


class ProtocolError(PuppetError):
    """The device answers, but not what its protocol or our configuration promises."""
