# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixed transforms received, those of a tracker's sensors sent; the robot description."""

from collections.abc import Callable, Iterable
import os
from pathlib import Path
import re
from typing import Any

from geometry_msgs.msg import TransformStamped
import numpy as np
from puppet_core.math import Quat, quaternions, Vec3
from puppet_core.sensor_frames import SAMPLE_OK, SensorFrame
from puppet_ros.messages import TransformsWriter
from puppet_ros.node import qos
from puppet_ros.node.stamps import RateLimit
from rclpy.node import Node
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

TF_TOPIC, TF_STATIC_TOPIC = 'tf', 'tf_static'
WORLD, TRANSMITTER = 'world', 'transmitter'
SENSOR_FRAME_PREFIX = 'tracker/'
MAX_FRAMES = 4096  # of a tree; somebody may make up names for ever
MAX_NAME = 256  # characters
MAX_COORDINATE_M = 1e6


class StaticTransformTree:
    """The last transforms between named frames, a tree or a forest (no ROS)."""

    def __init__(self) -> None:
        self._edges: dict[str, tuple[str, Vec3, Quat]] = {}

    def set(self, parent: str, child: str, position: Vec3, quaternion: Quat) -> bool:  # noqa: A003
        """Set where `child` stands in `parent`; return whether that is new."""
        norm = float(np.linalg.norm(quaternion))
        # every comparison is false for NaN
        is_near = np.all(np.abs(position) <= MAX_COORDINATE_M)
        is_turn = np.all(np.abs(quaternion) <= 2.0) and norm >= 1e-6
        is_full = child not in self._edges and len(self._edges) >= MAX_FRAMES
        is_named = parent != child and max(len(parent), len(child)) <= MAX_NAME
        if not (is_near and is_turn and is_named) or is_full:
            return False
        old = self._edges.get(child)
        edge = self._edges[child] = (
            parent,
            np.array(position, float),
            np.asarray(quaternion) / norm,
        )
        if old is None or old[0] != parent:
            return True
        return not (np.array_equal(old[1], edge[1]) and np.array_equal(old[2], edge[2]))

    def add(self, stamped: TransformStamped) -> bool:
        """Take an announced transform; return whether it is new."""
        t, r = stamped.transform.translation, stamped.transform.rotation
        pose = np.array([t.x, t.y, t.z]), np.array([r.w, r.x, r.y, r.z])
        names = stamped.header.frame_id.lstrip('/'), stamped.child_frame_id.lstrip('/')
        return self.set(*names, *pose)

    def lookup(self, target: str, source: str) -> tuple[Vec3, Quat] | None:
        """Return position (3,) [m] and quaternion (4,) of `source` in `target`, or None."""
        to_target, to_source = self._chain(target), self._chain(source)
        for frame, (p_source, q_source) in to_source.items():
            if frame in to_target:
                p_target, q_target = to_target[frame]
                inverse = quaternions.conjugate(q_target)
                position = quaternions.rotate(inverse, p_source - p_target)
                return position, quaternions.multiply(inverse, q_source)
        return None

    def _chain(self, frame: str) -> dict[str, tuple[Vec3, Quat]]:
        """Return `frame` in the axes of itself and of each of its ancestors."""
        position, quaternion = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        chain = {frame: (position, quaternion)}
        while frame in self._edges:
            frame, p_edge, q_edge = self._edges[frame]
            if frame in chain:
                break  # somebody announced a loop: what was found so far still holds
            position = p_edge + quaternions.rotate(q_edge, position)
            quaternion = quaternions.multiply(q_edge, quaternion)
            chain[frame] = (position, quaternion)
        return chain


class StaticTransforms:
    """
    The tree of a node, fed by /tf_static; `on_change` is called after a message with news.

    `follows_tf` feeds it by /tf too, whose transforms are taken as they come.
    """

    def __init__(
        self, node: Node, on_change: Callable[[], None] | None = None, follows_tf: bool = False
    ) -> None:
        self._tree = StaticTransformTree()
        self._on_change = on_change
        self._subscriptions = [
            node.create_subscription(
                TFMessage, TF_STATIC_TOPIC, self._on_transforms, qos.STATIC_TRANSFORMS
            )
        ]
        if follows_tf:
            self._subscriptions.append(
                node.create_subscription(TFMessage, TF_TOPIC, self._on_moving, qos.TRANSFORMS)
            )

    def lookup(self, target: str, source: str) -> tuple[Vec3, Quat] | None:
        """Return `source` in `target` axes as StaticTransformTree.lookup does."""
        return self._tree.lookup(target, source)

    def _on_transforms(self, msg: TFMessage) -> None:
        changed = [self._tree.add(stamped) for stamped in msg.transforms]
        if any(changed) and self._on_change is not None:
            self._on_change()

    def _on_moving(self, msg: TFMessage) -> None:
        for stamped in msg.transforms:
            self._tree.add(stamped)


class SensorTransforms:
    """
    Publishes transmitter -> tracker/<sensor>, and world -> transmitter once.

    `config` is that of a tracker's node: `sensors` in the order of the frames' rows,
    `transforms_rate_hz`, 0 for none, `world_frame` and `tf_prefix`.
    """

    def __init__(self, node: Node, config: Any) -> None:
        self._node, self._world = node, config.world_frame
        self.transmitter = config.tf_prefix + TRANSMITTER  # its frame
        prefix = config.tf_prefix + SENSOR_FRAME_PREFIX
        self._sensors = tuple(prefix + name for name in config.sensors)
        self._limit = RateLimit(config.transforms_rate_hz)
        self._all = TransformsWriter(self._names(range(len(self._sensors))))
        self._publisher = node.create_publisher(TFMessage, TF_TOPIC, qos.TRANSFORMS)
        self._static = node.create_publisher(TFMessage, TF_STATIC_TOPIC, qos.STATIC_TRANSFORMS)

    def announce(self, stamp_ns: int, position: Vec3, quaternion: Quat) -> None:
        writer = TransformsWriter([(self._world, self.transmitter)])
        self._static.publish(writer.fill(stamp_ns, position[None], quaternion[None]))

    def publish(self, frame: SensorFrame) -> None:
        if not self._limit.passes(frame.stamp_ns):
            return
        rows = np.flatnonzero(frame.status == SAMPLE_OK)
        writer = self._all
        if len(rows) < len(self._sensors):
            writer = TransformsWriter(self._names(rows))
        message = writer.fill(frame.stamp_ns, frame.positions[rows], frame.quaternions[rows])
        self._publisher.publish(message)

    def close(self) -> None:
        self._node.destroy_publisher(self._publisher)
        self._node.destroy_publisher(self._static)

    def _names(self, rows: Iterable[int]) -> list[tuple[str, str]]:
        return [(self.transmitter, self._sensors[row]) for row in rows]


class RobotDescriptionPublisher:
    """Publish a URDF text on a transient-local topic; a late subscriber gets the last one."""

    def __init__(self, node: Node, topic: str, text: str) -> None:
        self._publisher = node.create_publisher(String, topic, qos.LATCHED)
        self._text = ''
        self.publish(text)

    def publish(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self._publisher.publish(String(data=text))


def with_mesh_files(urdf: str, path: Path) -> str:
    """Return the URDF at `path` with its meshes as files, but for installed packages' ones."""
    from puppet_core.robots import find_mesh  # not for every node

    installed = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]

    def found(match: re.Match[str]) -> str:
        file = find_mesh(path, match[2])
        is_package = match[2].startswith('package://')
        if file is None or is_package and any(map(file.is_relative_to, installed)):
            return match[0]
        return f'{match[1]}{file.as_uri()}{match[3]}'

    return re.sub(r'(<mesh\b[^>]*?\bfilename\s*=\s*["\'])([^"\']+)(["\'])', found, urdf)
