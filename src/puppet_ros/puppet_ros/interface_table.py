# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The interface of the graph as one table: topics, services and frames, each with its meaning.

doc/reference.md is written from it. A test holds it against the graph of running nodes: what
they publish without a row here, or another type, node or QoS, fails.
"""

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
_DEVICE = "the tracker's"
_ON_DEMAND = "the tracker's, where `pose_array` asks for it"
_DESCRIBED = 'at start, and when it changes'


class Topic(NamedTuple):
    """A topic that nodes of the suite publish."""

    name: str
    type: str  # noqa: A003
    publishers: tuple[str, ...]  # nodes, or programs
    profile: QoSProfile  # that the publishers offer
    rate: str  # in words
    meaning: str


class Service(NamedTuple):
    """A service of a node."""

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


TOPICS = (
    Topic(
        RAW,
        'puppet_msgs/msg/TrackerFrame',
        TRACKERS,
        qos.STREAM,
        _DEVICE,
        'Every sensor as measured, one message for each frame of the tracker.',
    ),
    Topic(
        FILTERED,
        'puppet_msgs/msg/PoseFrame',
        ('pose_filter',),
        qos.STREAM,
        _DEVICE,
        'Pose, velocity, covariance and status of every sensor.',
    ),
    Topic(
        RAW_POSES,
        'geometry_msgs/msg/PoseArray',
        TRACKERS,
        qos.STREAM,
        _ON_DEMAND,
        'The bare poses of the raw frame, for other programs.',
    ),
    Topic(
        FILTERED_POSES,
        'geometry_msgs/msg/PoseArray',
        ('pose_filter',),
        qos.STREAM,
        _ON_DEMAND,
        'The bare poses of the filtered frame, for other programs.',
    ),
    Topic(
        POSTURE,
        'puppet_msgs/msg/Posture',
        ('performer',),
        qos.STREAM,
        _DEVICE,
        "The performer's posture, once the sensors are calibrated.",
    ),
    Topic(
        IMPORTANCE,
        'puppet_msgs/msg/Importance',
        ('importance',),
        qos.STREAM,
        _DEVICE,
        'How much the place of each end-effector matters, by environment and own body.',
    ),
    Topic(
        JOINTS,
        'sensor_msgs/msg/JointState',
        ('retarget',),
        qos.JOINT_STATES,
        _DEVICE,
        "The puppet's joints, as its robot description names them.",
    ),
    Topic(
        PUPPET,
        'puppet_msgs/msg/Posture',
        ('retarget',),
        qos.STREAM,
        _DEVICE,
        "The puppet's posture.",
    ),
    Topic(
        STATUS,
        'puppet_msgs/msg/RetargetStatus',
        ('retarget',),
        qos.STREAM,
        _DEVICE,
        'How the solver fared on the frame.',
    ),
    Topic(
        MARKERS,
        'visualization_msgs/msg/MarkerArray',
        ('visualization',),
        RELIABLE,
        '`marker_rate_hz` at most, if somebody listens',
        'Environment, goals, range balls and labels for RViz.',
    ),
    Topic(
        BODY_MARKERS,
        'visualization_msgs/msg/MarkerArray',
        ('visualization',),
        RELIABLE,
        '10 Hz at most, if somebody listens',
        "The puppet's limbs in the colour of their importance.",
    ),
    Topic(
        TRACKER_MARKERS,
        'visualization_msgs/msg/MarkerArray',
        ('tracker_markers',),
        RELIABLE,
        '`rate_hz` at most, if somebody listens',
        'Sensors with their names, status, trails and residuals.',
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
        'Where the transmitter stands in the world; the fixed joints of a robot.',
    ),
    Topic(
        PERFORMER_DESCRIPTION,
        'std_msgs/msg/String',
        ('performer',),
        qos.LATCHED,
        _DESCRIBED,
        "URDF of the performer's body.",
    ),
    Topic(
        DESCRIPTION,
        'std_msgs/msg/String',
        ('retarget',),
        qos.LATCHED,
        _DESCRIBED,
        "URDF that the joint states belong to: the puppet's body, or the robot's own.",
    ),
    Topic(
        BODY_DESCRIPTION,
        'std_msgs/msg/String',
        ('retarget',),
        qos.LATCHED,
        _DESCRIBED,
        "URDF of the puppet's sixteen segments, of a robot too.",
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

SERVICES = (
    Service(
        '/performer/calibrate',
        'puppet_msgs/srv/Calibrate',
        'performer',
        "Records a still T-pose and takes the sensors' mountings from it; with kind `motion` the "
        'T-pose for two seconds and then a range of motion.',
    ),
)

FRAMES = (
    Frame(
        'transmitter',
        'world',
        TF_STATIC,
        TRACKERS,
        'The tracker; its place is a parameter. `world` has the floor at z = 0.',
    ),
    Frame('tracker/<sensor>', 'transmitter', TF, TRACKERS, 'A sensor that was measured.'),
    Frame(
        '<body>/pelvis',
        'world',
        TF,
        ('visualization',),
        'Root of a body: `performer` or `puppet`.',
    ),
    Frame(
        '<body>/<segment>_z',
        '<body>/<parent segment>',
        TF,
        ('visualization',),
        'First massless link of the joint.',
    ),
    Frame(
        '<body>/<segment>_y',
        '<body>/<segment>_z',
        TF,
        ('visualization',),
        'Second massless link of the joint.',
    ),
    Frame('<body>/<segment>', '<body>/<segment>_y', TF, ('visualization',), 'A segment.'),
    Frame(
        'puppet/<link>',
        'puppet/<parent link>',
        TF,
        ('visualization',),
        "Instead of the segments: a robot's links, its root link below `puppet/pelvis`; those of "
        'fixed joints are on `/tf_static`.',
    ),
)

BY_NAME = {topic.name: topic for topic in TOPICS}
