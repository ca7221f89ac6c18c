# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Answers that come later, at once, or at the deadline."""

import time

from puppet_msgs.srv import Calibrate
from puppet_ros.node.deferred_service import DeferredService
import pytest
from rclpy.node import Node


@pytest.fixture
def node(ros_context):
    node = Node('deferring', context=ros_context)
    yield node
    node.destroy_node()


def _response(message):
    return Calibrate.Response(message=message)


def _call(node, spin_until, kind):
    client = node.create_client(Calibrate, '~/serve')
    spin_until([node], client.service_is_ready)
    return client.call_async(Calibrate.Request(kind=kind))


def test_answer_comes_when_it_is_there(node, spin_until):
    service = DeferredService(
        node, Calibrate, '~/serve', lambda request: 30.0, lambda: _response('too late')
    )
    future = _call(node, spin_until, 'pose')
    assert spin_until([node], lambda: service.is_pending)
    assert not future.done()
    service.answer(_response('later'))
    assert spin_until([node], future.done)
    assert future.result().message == 'later'
    assert not service.is_pending


def test_refusal_is_answered_at_once(node, spin_until):
    DeferredService(
        node, Calibrate, '~/serve', lambda request: _response(f'no {request.kind}'), _response
    )
    future = _call(node, spin_until, 'dance')
    assert spin_until([node], future.done)
    assert future.result().message == 'no dance'


def test_deadline_answers_what_nobody_answered(node, spin_until):
    start = time.monotonic()
    DeferredService(node, Calibrate, '~/serve', lambda request: 0.3, lambda: _response('time'))
    future = _call(node, spin_until, 'pose')
    assert spin_until([node], future.done)
    assert future.result().message == 'time'
    assert time.monotonic() - start >= 0.3
