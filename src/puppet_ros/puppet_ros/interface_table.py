# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The graph's topics, services and frames in one table, from which doc/reference is written."""

from typing import NamedTuple

from puppet_ros.node import qos
from rclpy.qos import QoSProfile

RAW, FILTERED = '/tracker/raw', '/tracker/filtered'
RAW_POSES, FILTERED_POSES = '/tracker/raw_poses', '/tracker/filtered_poses'
POSTURE, IMPORTANCE = '/performer/posture', '/importance'
JOINTS, PUPPET, STATUS = '/joint_states', '/puppet/posture', '/retarget/status'
PERFORMER_DESCRIPTION = '/performer/robot_description'
DESCRIPTION, BODY_DESCRIPTION = '/robot_description', '/puppet/robot_description'
MARKERS, BODY_MARKERS, TRACKER_MARKERS = '/markers', '/puppet/markers', '/tracker/markers'
TF, TF_STATIC = '/tf', '/tf_static'
TRAJECTORY = '/joint_trajectory_controller/joint_trajectory'
POSITIONS = '/forward_position_controller/commands'
PARAMETERS = '/puppet/parameters'
DIAGNOSTICS, CLOCK = '/diagnostics', '/clock'

TRACKERS = ('tracker_driver', 'pose_topics')
NODES = (
    *TRACKERS,
    'pose_filter',
    'performer',
    'importance',
    'retarget',
    'visualization',
    'tracker_markers',
)
RELIABLE = qos.JOINT_STATES  # what rclpy makes of a depth of 10


class Topic(NamedTuple):
    name: str
    type: str  # noqa: A003
    publishers: tuple[str, ...]  # nodes, or programs
    profile: QoSProfile  # that the publishers offer
    rate: str  # in words
    meaning: str


class Service(NamedTuple):
    name: str
    type: str  # noqa: A003
    node: str
    meaning: str


class Frame(NamedTuple):
    """A frame of the TF tree, or many of a kind: <..> in a name stands for one of many."""

    child: str
    parent: str
    topic: str  # TF or TF_STATIC
    publishers: tuple[str, ...]
    meaning: str


def _stream(name: str, kind: str, meaning: str, *publishers: str) -> Topic:
    """Return a topic with one message for each frame of the tracker."""
    kind = kind if '/' in kind else f'puppet_msgs/msg/{kind}'
    return Topic(name, kind, publishers, qos.STREAM, "the tracker's", meaning)


def _poses(name: str, publishers: tuple[str, ...], what: str) -> Topic:
    rate = "the tracker's, where `pose_array` asks for it"
    meaning = f'The bare poses of the {what} frame, for other programs.'
    return Topic(name, 'geometry_msgs/msg/PoseArray', publishers, qos.STREAM, rate, meaning)


def _description(name: str, node: str, meaning: str) -> Topic:
    """Return a latched topic with a URDF."""
    rate = 'at start, and when it changes'
    return Topic(name, 'std_msgs/msg/String', (node,), qos.LATCHED, rate, meaning)


def _commands(name: str, kind: str, command_type: str) -> Topic:
    meaning = f'To a robot if `command_type` is `{command_type}`; other name: `command_topic`.'
    return Topic(name, kind, ('retarget',), qos.COMMANDS, "the tracker's at most", meaning)


def _markers(name: str, node: str, rate: str, meaning: str) -> Topic:
    rate = f'{rate} at most, if somebody listens'
    return Topic(name, 'visualization_msgs/msg/MarkerArray', (node,), RELIABLE, rate, meaning)


TOPICS = (
    _stream(RAW, 'TrackerFrame', 'Every sensor as measured.', *TRACKERS),
    _stream(FILTERED, 'PoseFrame', 'Pose, velocity, covariance and status.', 'pose_filter'),
    _poses(RAW_POSES, TRACKERS, 'raw'),
    _poses(FILTERED_POSES, ('pose_filter',), 'filtered'),
    _stream(POSTURE, 'Posture', "The performer's posture, once it is calibrated.", 'performer'),
    _stream(
        IMPORTANCE, 'Importance', 'How much the place of each end-effector matters.', 'importance'
    ),
    _stream(
        JOINTS, 'sensor_msgs/msg/JointState', 'Joints; of a robot with velocities.', 'retarget'
    )._replace(profile=qos.JOINT_STATES),
    _commands(TRAJECTORY, 'trajectory_msgs/msg/JointTrajectory', 'trajectory'),
    _commands(POSITIONS, 'std_msgs/msg/Float64MultiArray', 'positions'),
    _stream(PUPPET, 'Posture', "The puppet's posture.", 'retarget'),
    _stream(STATUS, 'RetargetStatus', 'How the solver fared on the frame.', 'retarget'),
    _markers(
        MARKERS, 'visualization', '`marker_rate_hz`', 'Environment, goals, range balls and labels.'
    ),
    _markers(BODY_MARKERS, 'visualization', '10 Hz', "The puppet's limbs, by their importance."),
    _markers(
        TRACKER_MARKERS, 'tracker_markers', '`rate_hz`', 'Sensors, names, trails, residuals.'
    ),
    Topic(
        TF,
        'tf2_msgs/msg/TFMessage',
        (*TRACKERS, 'visualization'),
        qos.TRANSFORMS,
        '`transforms_rate_hz` and `tf_rate_hz` at most',
        'Sensors, from the trackers; both bodies, from `visualization`.',
    ),
    Topic(
        TF_STATIC,
        'tf2_msgs/msg/TFMessage',
        (*TRACKERS, 'visualization'),
        qos.STATIC_TRANSFORMS,
        'once',
        'Where the transmitter and the worlds of the puppets stand; the fixed joints of a robot.',
    ),
    _description(PERFORMER_DESCRIPTION, 'performer', "URDF of the performer's body."),
    _description(
        DESCRIPTION, 'retarget', "URDF of the joint states: the puppet's, or the robot's own."
    ),
    _description(BODY_DESCRIPTION, 'retarget', "URDF of the puppet's sixteen segments."),
    Topic(
        PARAMETERS,
        'std_msgs/msg/String',
        NODES,
        qos.LATCHED,
        'at start, and when they change',
        "A node's parameters, as a parameter file; recorded, a replay takes them from the bag.",
    ),
    Topic(
        DIAGNOSTICS,
        'diagnostic_msgs/msg/DiagnosticArray',
        (*NODES, 'puppet_up'),
        RELIABLE,
        '1 Hz',
        'Rate, latency, drops and last error of each node; from `puppet_up`, which keeps the '
        'programs running, how each of them fares.',
    ),
    Topic(
        CLOCK,
        'rosgraph_msgs/msg/Clock',
        ('play',),
        RELIABLE,
        'with every recorded message',
        'Simulated time, while a bag is played with `--clock`.',
    ),
)
TYPES = {topic.name: topic.type for topic in TOPICS}

SERVICES = (
    Service(
        '/performer/calibrate',
        'puppet_msgs/srv/Calibrate',
        'performer',
        "Records a still T-pose and takes the sensors' mountings from it; with kind `motion` the "
        'T-pose for two seconds and then a range of motion.',
    ),
)


def _link(child: str, parent: str, meaning: str) -> Frame:
    return Frame(child, parent, TF, ('visualization',), meaning)


FRAMES = (
    Frame(
        'transmitter',
        'world',
        TF_STATIC,
        TRACKERS,
        'The tracker, by parameter. `world` has the floor at z = 0.',
    ),
    Frame('tracker/<sensor>', 'transmitter', TF, TRACKERS, 'A sensor that was measured.'),
    Frame(
        '<puppet>_world',
        'world',
        TF_STATIC,
        ('visualization',),
        "A puppet's world, moved by `display_offset_m`: `puppet`, of the second one `puppet_2`.",
    ),
    _link('performer/pelvis', 'world', 'Root of the performer.'),
    _link('<puppet>/pelvis', '<puppet>_world', 'Root of a puppet.'),
    _link('<body>/<segment>_z', '<body>/<parent segment>', 'First massless link of the joint.'),
    _link('<body>/<segment>_y', '<body>/<segment>_z', 'Second massless link of the joint.'),
    _link('<body>/<segment>', '<body>/<segment>_y', 'A segment.'),
    _link(
        '<puppet>/<link>',
        '<puppet>/<parent link>',
        "Instead of the segments: a robot's links, the root link below `<puppet>/pelvis`; those "
        'of fixed joints are on `/tf_static`.',
    ),
)

BY_NAME = {topic.name: topic for topic in TOPICS}
