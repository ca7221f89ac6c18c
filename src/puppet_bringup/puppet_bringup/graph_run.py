# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What the commands that run the simulated graph and watch it have in common."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
import os
from pathlib import Path
import sys
import threading
from typing import NamedTuple

from puppet_bringup.demo_run import DemoRun, PipelineError, Say
from puppet_bringup.monitor import KINDS, Monitor
from puppet_bringup.process_table import SIM, SOURCES
from puppet_bringup.programs import child_environment, Process
from puppet_bringup.stop_signals import stop_on_signals
from puppet_bringup.supervisor import LineSink, Supervisor
from puppet_bringup.up import prepared
from puppet_core.io import ConfigError, PuppetError
from puppet_ros.node import observing
from puppet_ros.process import free_domain, middleware_settings

EXIT_OK, EXIT_FAILED, EXIT_BAD_INPUT = 0, 1, 2
MIN_RATE_HZ, MAX_RATE_HZ = 1.0, 144.0  # the device's ceiling


class WatchedGraph(NamedTuple):
    """A graph, its observer, and who stops it."""

    run: DemoRun
    monitor: Monitor
    supervisor: Supervisor


def run_graph_command(name: str, run: Callable[[threading.Event], int]) -> int:
    """
    Run a command and return its exit code.

    Parameters
    ----------
    name : str
        Begins the line of an error.
    run : callable
        Gets the event that the signals of `stop_on_signals` set; returns the exit code.

    Returns
    -------
    exit_code : int
        That of the command; 1 for a failed run, 2 for bad input.

    """
    stopping = stop_on_signals()
    try:
        return run(stopping)
    except PipelineError as err:
        print(f'{name}: {err}', file=sys.stderr)
        return EXIT_BAD_INPUT if err.is_bad_input else EXIT_FAILED
    except PuppetError as err:
        print(f'{name}: {err}', file=sys.stderr)
        return EXIT_BAD_INPUT
    except OSError as err:
        print(f'{name}: {reason(err)}', file=sys.stderr)
        return EXIT_FAILED


def reason(err: OSError) -> str:
    """Return what went wrong, with the file if there is one; libraries raise some without both."""
    if err.strerror is None:
        return ' '.join(str(err).split()) or type(err).__name__
    return err.strerror if err.filename is None else f'{err.filename}: {err.strerror}'


def use_own_domain(domain_id: int | None = None) -> int:
    """
    Set a ROS domain of this machine for this process and its children; return its number.

    They have the `middleware_settings`.

    """
    domain = domain_id if domain_id is not None else free_domain()
    os.environ['ROS_DOMAIN_ID'] = str(domain)
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.update(middleware_settings(os.environ))
    return domain


def check_rate(option: str, rate_hz: float) -> None:
    """
    Check a rate of the tracker.

    Raises
    ------
    ConfigError : naming the option, if no tracker has this rate.

    """
    if not MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ:
        raise ConfigError(
            f'{option}: expected {MIN_RATE_HZ} <= value <= {MAX_RATE_HZ}, got {rate_hz}'
        )


def simulation(
    folder: Path, character: str, rate_hz: float, is_composed: bool, **further: str
) -> tuple[Process, ...]:
    """
    Return the processes of a simulation that starts when everybody listens.

    Parameters
    ----------
    folder : Path
        For the emulator's ports and the calibration, which a restarted node goes on with.
    character : str
        Name of the puppet, or of several with commas between.
    rate_hz : float
        Frames per second.
    is_composed : bool
        Whether all nodes share a process.
    **further : str
        More arguments of the launch description.

    Raises
    ------
    ConfigError : for values that are not possible.

    """
    given = {
        'character': character,
        'rate_hz': repr(rate_hz),
        'composed': str(is_composed).lower(),
        'autostart': 'false',
        't_pose_s': '2',
        'calibration_file': str(folder / 'calibration.yaml'),
        **further,
    }
    return prepared(SIM, given, folder)


@contextmanager
def watched_graph(
    listed: Sequence[Process],
    stopping: threading.Event,
    say: Say,
    topics: Sequence[str] = tuple(KINDS),
    on_line: LineSink = lambda *_: None,
    changes: Mapping[str, str] | None = None,
) -> Iterator[WatchedGraph]:
    """
    Yield a graph that can be started, with a monitor on it; stop all of it afterwards.

    Parameters
    ----------
    listed : sequence of Process
        What to start.
    stopping : Event
        Ends the run early.
    say : callable
        Gets lines on how far it is.
    topics : sequence of str
        What the monitor watches.
    on_line : callable
        Gets the name of a child and each line it writes.
    changes : mapping, optional
        To the environment of the children.

    """
    environ = child_environment(os.environ, **(changes or {}))
    with Supervisor(on_line, environ, SOURCES) as supervisor, observing() as (executor, context):
        monitor = Monitor(topics, context=context)
        executor.add_node(monitor)
        try:
            run = DemoRun(listed, supervisor, monitor, executor, stopping, say)
            yield WatchedGraph(run, monitor, supervisor)
        finally:
            with suppress(KeyboardInterrupt):
                monitor.destroy_node()
