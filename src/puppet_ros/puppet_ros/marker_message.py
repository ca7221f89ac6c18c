# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Plain marker descriptions to visualization_msgs/MarkerArray."""

from collections.abc import Sequence
from typing import Protocol

from builtin_interfaces.msg import Duration
from puppet_core.arrays import Quat, Vec3
from puppet_ros import flat_array
from visualization_msgs.msg import Marker, MarkerArray

MARKER_TYPES = {'cube': Marker.CUBE, 'sphere': Marker.SPHERE, 'cylinder': Marker.CYLINDER}


class MarkerDescription(Protocol):
    """What a marker needs to be drawn; see puppet_retarget.markers.MarkerSpec."""

    @property
    def namespace(self) -> str: ...  # noqa: D102
    @property
    def identifier(self) -> int: ...  # noqa: D102
    @property
    def shape(self) -> str: ...  # noqa: D102
    @property
    def position(self) -> Vec3: ...  # noqa: D102
    @property
    def orientation(self) -> Quat: ...  # noqa: D102
    @property
    def size(self) -> Vec3: ...  # noqa: D102
    @property
    def colour(self) -> tuple[float, float, float, float]: ...  # noqa: D102
    @property
    def text(self) -> str: ...  # noqa: D102


def to_msg(
    markers: Sequence[MarkerDescription], frame_id: str, stamp_ns: int, lifetime_s: float
) -> MarkerArray:
    """
    Return a new message.

    Parameters
    ----------
    markers : sequence of MarkerDescription
        What to draw.
    frame_id : str
        Frame of the positions.
    stamp_ns : int
        Stamp of all markers [ns].
    lifetime_s : float
        How long they stay without being sent again [s].

    """
    seconds, nanoseconds = divmod(round(lifetime_s * 1e9), 10**9)
    lifetime = Duration(sec=seconds, nanosec=nanoseconds)
    return MarkerArray(
        markers=[_marker(marker, frame_id, stamp_ns, lifetime) for marker in markers]
    )


def _marker(
    description: MarkerDescription, frame_id: str, stamp_ns: int, lifetime: Duration
) -> Marker:
    marker = Marker(
        ns=description.namespace,
        id=description.identifier,
        type=MARKER_TYPES[description.shape],
        action=Marker.ADD,
        lifetime=lifetime,
        text=description.text,
    )
    marker.header.frame_id = frame_id
    flat_array.write_stamp(stamp_ns, marker.header.stamp)
    position, rotation, scale = marker.pose.position, marker.pose.orientation, marker.scale
    position.x, position.y, position.z = map(float, description.position)
    rotation.w, rotation.x, rotation.y, rotation.z = map(float, description.orientation)
    scale.x, scale.y, scale.z = map(float, description.size)
    colour = marker.color
    colour.r, colour.g, colour.b, colour.a = map(float, description.colour)
    return marker
