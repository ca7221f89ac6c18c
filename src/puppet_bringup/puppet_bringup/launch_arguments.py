# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The launch descriptions and their arguments, as plain data."""

from dataclasses import dataclass

SIM, HARDWARE, TOPICS, REPLAY = 'sim', 'hardware', 'topics', 'replay'
SHOW = 'show'  # the emulator's usual script
VARIANTS = {
    SIM: 'emulated tracker and performer on pseudo-terminals, then the whole graph',
    HARDWARE: 'a real tracker on serial ports, then the whole graph',
    TOPICS: 'the graph behind PoseStamped or PoseArray topics of another tracker',
    REPLAY: 'the graph behind a recorded /tracker/raw, or a later topic',
}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a launch description."""

    name: str
    """As in `name:=value`."""

    default: str
    """'' leaves the parameter file's value."""

    description: str
    """One sentence."""

    variants: tuple[str, ...] = (SIM, HARDWARE, TOPICS, REPLAY)
    """Launch descriptions that have it."""


ARGUMENTS = (
    Argument(
        'character', '', 'Puppet, by name or path of its YAML file; several, separated by commas, '
        'each follow the performer, from the second on as /puppet_2/joint_states and so on.',
    ),  # fmt: skip
    Argument(
        'solver', '',
        'How the puppet is posed: importance_based, elbow_circle, rate_control, '
        'joint_angles, position.',
    ),  # fmt: skip
    Argument('environment', '', 'Environment, by name or path of its YAML file.'),
    Argument('performer', '', "The performer's character, by name or path."),
    Argument('layout', '', 'Sensor layout, by name or path.'),
    Argument('calibration_file', '', 'Calibration to load, or to save to.'),
    Argument(
        'state_dir', '', 'Folder for what a node that is started again goes on from: the last '
        'posture of each puppet. If empty, `./puppet` takes one for this run, and `ros2 launch` '
        'none: such a puppet does not go on from where it was.',
    ),  # fmt: skip
    Argument('rate_hz', '', 'Frames per second of the tracker.', (SIM, HARDWARE, TOPICS)),
    Argument('ports', '', 'Serial ports, separated by commas.', (HARDWARE,)),
    Argument(
        'topics', '', 'Topic of each sensor, separated by commas, or one with {sensor} or [*].',
        (TOPICS,),
    ),  # fmt: skip
    Argument('autostart', '', 'false: the driver waits for a lifecycle manager.', (SIM, HARDWARE)),
    Argument('ports_dir', '', 'Folder for the emulated ports; a new one if empty.', (SIM,)),
    Argument('clip', '', 'BVH or AMC file to perform; a built-in performance if empty.', (SIM,)),
    Argument('script', '', 'What is done without a clip: show, or range for calibration.', (SIM,)),
    Argument('asf', '', "The AMC file's skeleton.", (SIM,)),
    Argument('name_map', '', "Names of the clip's joints; found if empty.", (SIM,)),
    Argument('unit', '', "The clip's unit: mm, cm, in, m or metres; found if empty.", (SIM,)),
    Argument('up_axis', '', "The clip's axis that is up: x, -x, y, ...; found if empty.", (SIM,)),
    Argument('t_pose_s', '10', 'How long it first stands in the T-pose: until all nodes listen.',
             (SIM,)),
    Argument('seed', '', 'Of mounting, noise and faults of the emulated sensors.', (SIM,)),
    Argument('bag', '', 'Recording to play; if empty, play one yourself.', (REPLAY,)),
    Argument('rate', '1', 'How fast it is played, times real time.', (REPLAY,)),
    Argument('clock', 'true', 'Whether it sets the time of the nodes, on /clock.', (REPLAY,)),
    Argument(
        'entry', '', 'Topic at which it enters: /tracker/raw, or a later one of the graph, whose '
        'nodes before it are then not started; the first in the recording if empty.', (REPLAY,),
    ),  # fmt: skip
    Argument(
        'composed', 'false', 'Whether all nodes share one process, puppet_pipeline: less latency.'
    ),
    Argument(
        'realtime', 'false', 'Whether the nodes run before all ordinary programs, on processors '
        'that do not sleep; where the system allows it.',
    ),  # fmt: skip
    Argument('pin', '', 'Processors for the nodes, one each in turns, such as 2,3; all if empty.'),
    Argument('view', 'false', 'Whether to show the bodies in a browser.'),
    Argument(
        'rviz', 'false', 'RViz: true or puppet for the bodies, tracker for the sensors, or the '
        'path of an .rviz file.',
    ),  # fmt: skip
)


def arguments_of(variant: str) -> tuple[Argument, ...]:
    """Return the arguments of a launch description."""
    return tuple(argument for argument in ARGUMENTS if variant in argument.variants)
