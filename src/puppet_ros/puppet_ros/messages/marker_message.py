# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Plain marker descriptions to visualization_msgs/MarkerArray."""

from collections.abc import Sequence

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point
from puppet_core.marker_spec import (
    CUBE_SHAPE,
    CYLINDER_SHAPE,
    LINES_SHAPE,
    MarkerSpec,
    SPHERE_SHAPE,
    TEXT_SHAPE,
)
from puppet_ros.messages import flat_array
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

MARKER_TYPES = {
    CUBE_SHAPE: Marker.CUBE,
    SPHERE_SHAPE: Marker.SPHERE,
    CYLINDER_SHAPE: Marker.CYLINDER,
    LINES_SHAPE: Marker.LINE_LIST,
    TEXT_SHAPE: Marker.TEXT_VIEW_FACING,
}


def to_msg(
    markers: Sequence[MarkerSpec], frame_id: str, stamp_ns: int, lifetime_s: float
) -> MarkerArray:
    """
    Return a new message of markers that stay for a lifetime [s] without being sent again.

    Frame and stamp [ns] are of those that have no frame of their own.
    """
    seconds, nanoseconds = divmod(round(lifetime_s * 1e9), 10**9)
    lifetime = Duration(sec=seconds, nanosec=nanoseconds)
    return MarkerArray(
        markers=[_marker(marker, frame_id, stamp_ns, lifetime) for marker in markers]
    )


def delete_all(frame_id: str) -> MarkerArray:
    """Return a new message that takes away whatever was sent before."""
    marker = Marker(action=Marker.DELETEALL)
    marker.header.frame_id = frame_id
    return MarkerArray(markers=[marker])


def _marker(description: MarkerSpec, frame_id: str, stamp_ns: int, lifetime: Duration) -> Marker:
    kind, text = MARKER_TYPES[description.shape], description.text
    marker = Marker(type=kind, action=Marker.ADD, lifetime=lifetime, text=text)
    marker.ns, marker.id = description.namespace, description.identifier
    if description.frame:
        # stamp zero is the latest transform, again and again
        marker.header.frame_id, marker.frame_locked = description.frame, True
    else:
        marker.header.frame_id = frame_id
        flat_array.write_stamp(stamp_ns, marker.header.stamp)
    position, rotation, scale = marker.pose.position, marker.pose.orientation, marker.scale
    position.x, position.y, position.z = map(float, description.position)
    rotation.w, rotation.x, rotation.y, rotation.z = map(float, description.orientation)
    scale.x, scale.y, scale.z = map(float, description.size)
    colour = marker.color
    colour.r, colour.g, colour.b, colour.a = map(float, description.colour)
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in description.points.tolist()]
    marker.colors = [ColorRGBA(r=r, g=g, b=b, a=a) for r, g, b, a in description.colours.tolist()]
    return marker
