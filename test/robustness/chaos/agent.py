# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The other programs of a fault run: each a process of its own, told by its first argument.

Each writes `begin T` when its work begins and `end T` when it is done, T the steady time in
seconds, which all processes of a machine share.

example: python3 -m robustness.chaos.agent publisher --hold-s 2
"""

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
import os
import sys
import time
from typing import Any

import numpy as np
from puppet_bringup.monitor import JOINTS_TOPIC, KINDS
from puppet_ros.node import make_executor, qos
from rcl_interfaces.msg import Parameter, ParameterDescriptor, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
import rclpy
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from robustness.chaos.hostile_messages import hostile_messages
from robustness.chaos.schedule import DEAF, HOSTILE, RIVAL, STARVE, STORM
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Float64

CLOCK_SOURCE = 'clock'  # publishes simulated time
OFFSET_TOPIC = '/chaos/clock_offset'
CLOCK_PERIOD_S = 0.002  # four a frame
BURST_PERIOD_S = 0.002
RIVAL_PERIOD_S = 1.0 / 120.0
RIVAL_SHIFT_M = 0.5  # where the other tracker sees the same body
PATIENCE_S = 20.0  # for the graph to be found
LISTENERS_S = 2.0  # nobody does where nodes share a process
SPIN_S = 0.05
SWITCHED = ('solver', 'character')  # strings that a storm sets to others
CHARACTERS = ('blubby', 'frog', 'sally')
ONE_OF = 'one of '  # how a row's range begins where there are choices
SPREAD = 0.1  # of the numbers that a storm sets
SPOILED_SHARE = 0.3


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    p = argparse.ArgumentParser(prog='chaos_agent', description=__doc__)
    p.add_argument('kind', choices=(STARVE, CLOCK_SOURCE, *AGENTS))
    p.add_argument('--target', default='', help='node or topic')
    p.add_argument('--hold-s', type=float, default=1.0, metavar='S')
    p.add_argument('--seed', type=int, default=0)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Do one thing; return the exit code."""
    options = parser().parse_args(argv)
    if options.kind == STARVE:
        _be_busy()
    rclpy.init(args=[])
    node = Node(f'chaos_{options.kind}')
    executor = make_executor()
    executor.add_node(node)
    try:
        act = _keep_time if options.kind == CLOCK_SOURCE else AGENTS[options.kind]
        act(node, executor, options)
        say('end')
    except KeyboardInterrupt:
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


def say(word: str) -> None:
    """Write that something happens now."""
    print(f'{word} {time.monotonic():.6f}', flush=True)


def _be_busy() -> None:
    """Take a core for good, with the priority of ordinary programs."""
    if hasattr(os, 'SCHED_OTHER'):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    say('begin')
    while True:
        pass


def _keep_time(node: Node, executor: Executor, options: argparse.Namespace) -> None:
    """Publish the system's time on /clock with an offset that others set; without end."""
    offset_ns = 0

    def on_offset(msg: Float64) -> None:
        nonlocal offset_ns
        offset_ns = round(1e9 * msg.data)
        tick()
        say('begin')

    def tick() -> None:
        now_ns = time.time_ns() + offset_ns
        clock.clock.sec, clock.clock.nanosec = divmod(now_ns, 1_000_000_000)
        publisher.publish(clock)

    clock = Clock()
    publisher = node.create_publisher(Clock, '/clock', 10)
    node.create_subscription(Float64, OFFSET_TOPIC, on_offset, 10)
    node.create_timer(CLOCK_PERIOD_S, tick)
    while rclpy.ok():
        executor.spin_once(timeout_sec=1.0)


def _be_deaf(node: Node, executor: Executor, options: argparse.Namespace) -> None:
    """Subscribe to everything, and say so; whoever started this stops it, so it never reads."""
    _until(executor, lambda: bool(node.count_publishers(JOINTS_TOPIC)))
    found = [(name, kinds[0]) for name, kinds in node.get_topic_names_and_types() if kinds]
    for name, kind in found:
        is_reliable = KINDS.get(name, None) is None or name == JOINTS_TOPIC
        node.create_subscription(
            _message_class(kind),
            name,
            lambda _: None,
            qos.JOINT_STATES if is_reliable else qos.STREAM,
            raw=True,
        )
    infos = node.get_subscriptions_info_by_topic
    _until(executor, lambda: any(i.node_name == node.get_name() for i in infos(JOINTS_TOPIC)))
    say('begin')
    while rclpy.ok():
        executor.spin_once(timeout_sec=SPIN_S)


def _message_class(kind: str) -> type:
    """Return the class of a type's name like std_msgs/msg/Header."""
    package, _, name = kind.split('/')
    return getattr(import_module(f'{package}.msg'), name)


def _rival(node: Node, executor: Executor, options: argparse.Namespace) -> None:
    """Publish what the tracker does, seen from elsewhere, as a second driver by mistake."""
    topic = '/tracker/raw'
    heard: list[Any] = []
    node.create_subscription(KINDS[topic], topic, heard.append, qos.STREAM)
    publisher = node.create_publisher(KINDS[topic], topic, qos.STREAM)
    _find(executor, heard, publisher)
    msg = heard[-1]
    positions = np.array(msg.positions).reshape(-1, 3)
    positions[:, 0] += RIVAL_SHIFT_M
    msg.positions = positions.ravel().tolist()

    def publish() -> None:
        msg.header.stamp = node.get_clock().now().to_msg()
        msg.frame_index += 1
        publisher.publish(msg)

    _repeat(executor, publish, RIVAL_PERIOD_S, options.hold_s)


def _be_hostile(node: Node, executor: Executor, options: argparse.Namespace) -> None:
    """Publish malformed messages made from one that was heard."""
    topic = options.target
    heard: list[bytes] = []
    node.create_subscription(KINDS[topic], topic, heard.append, qos.STREAM, raw=True)
    publisher = node.create_publisher(KINDS[topic], topic, qos.STREAM)
    _find(executor, heard, publisher)
    good = deserialize_message(heard[-1], KINDS[topic])
    messages = hostile_messages(good, np.random.default_rng(options.seed))
    _repeat(
        executor, lambda: publisher.publish(next(messages).data), BURST_PERIOD_S, options.hold_s
    )


def _storm(node: Node, executor: Executor, options: argparse.Namespace) -> None:
    """Set parameters of a node to other values and to nonsense, as fast as it answers."""
    found = _parameters(node, executor, options.target)
    setter = node.create_client(SetParameters, f'{options.target}/set_parameters')
    rng = np.random.default_rng(options.seed)
    values = [value for value, _ in found]
    chosen = [changed(p, row, rng) for p, row in found if p.name in SWITCHED]
    say('begin')
    deadline = time.monotonic() + options.hold_s
    while time.monotonic() < deadline:
        future = setter.call_async(SetParameters.Request(parameters=chosen))
        _until(executor, future.done, deadline)
        chosen = [
            spoiled(p, rng) if rng.random() < SPOILED_SHARE else changed(p, row, rng)
            for p, row in (found[i] for i in rng.permutation(len(found))[: 1 + rng.integers(4)])
        ]
    future = setter.call_async(SetParameters.Request(parameters=values))
    _until(executor, future.done)
    refused = [r.reason for r in future.result().results if not r.successful]
    if refused:
        sys.exit(f'{options.target}: expected to take its own parameters back, said: {refused}')


def _parameters(
    node: Node, executor: Executor, name: str
) -> list[tuple[Parameter, ParameterDescriptor]]:
    """Return the parameters of a node that may be set while it runs, as they are."""

    def call(kind: Any, service: str, request: Any) -> Any:
        client = node.create_client(kind, f'{name}/{service}')
        _until(executor, client.service_is_ready)
        future = client.call_async(request)
        _until(executor, future.done)
        return future.result()

    names = call(ListParameters, 'list_parameters', ListParameters.Request()).result.names
    names = [n for n in names if n != 'use_sim_time']
    described = call(
        DescribeParameters, 'describe_parameters', DescribeParameters.Request(names=names)
    ).descriptors
    live = [d for d in described if not d.read_only]
    values = call(
        GetParameters, 'get_parameters', GetParameters.Request(names=[d.name for d in live])
    ).values
    return [(Parameter(name=d.name, value=v), d) for d, v in zip(live, values)]


def changed(
    parameter: Parameter, descriptor: ParameterDescriptor, rng: np.random.Generator
) -> Parameter:
    """Return a parameter with another value that is allowed, if one is known."""
    value = parameter.value
    if parameter.name in SWITCHED:
        constraint = descriptor.additional_constraints
        names = constraint.removeprefix(ONE_OF).split(', ') if ONE_OF in constraint else CHARACTERS
        value = ParameterValue(type=value.type, string_value=str(rng.choice(names)))
    elif value.type == ParameterType.PARAMETER_DOUBLE and descriptor.floating_point_range:
        bounds = descriptor.floating_point_range[0]
        wanted = value.double_value * rng.uniform(1.0 - SPREAD, 1.0 + SPREAD)
        wanted = min(max(wanted, bounds.from_value), bounds.to_value)
        value = ParameterValue(type=value.type, double_value=wanted)
    return Parameter(name=parameter.name, value=value)


def spoiled(parameter: Parameter, rng: np.random.Generator) -> Parameter:
    """Return a parameter with a value that no row allows."""
    if parameter.value.type == ParameterType.PARAMETER_STRING:
        text = str(rng.choice(['\x1b/nowhere', 300 * 'x']))
        value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=text)
    else:
        value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=float('nan'))
    return Parameter(name=parameter.name, value=value)


def _find(executor: Executor, heard: list[Any], publisher: Any) -> None:
    """Wait until a topic is heard, and for a while until others than this program listen."""
    _until(executor, lambda: bool(heard))
    deadline = time.monotonic() + LISTENERS_S
    _until(executor, lambda: publisher.get_subscription_count() > 1, deadline)


def _repeat(executor: Executor, act: Callable[[], None], period_s: float, hold_s: float) -> None:
    say('begin')
    begin = due = time.monotonic()
    while (now := time.monotonic()) < begin + hold_s:
        if now < due:
            time.sleep(due - now)
        act()
        due = max(due + period_s, now)


def _until(executor: Executor, done: Callable[[], bool], deadline: float | None = None) -> None:
    end = time.monotonic() + PATIENCE_S if deadline is None else deadline
    while not done() and time.monotonic() < end:
        executor.spin_once(timeout_sec=SPIN_S)
    if deadline is None and not done():
        sys.exit('the graph was not found')


AGENTS: dict[str, Callable[[Node, Executor, argparse.Namespace], None]] = {
    DEAF: _be_deaf,
    RIVAL: _rival,
    HOSTILE: _be_hostile,
    STORM: _storm,
}


if __name__ == '__main__':
    sys.exit(main())
