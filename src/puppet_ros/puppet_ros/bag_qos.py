# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""QoS profiles as the YAML text in which bags keep them, by rosbag2's names or old numbers."""

from collections.abc import Sequence
from typing import Any

from puppet_core.io.yaml_file import load_plain_yaml
from rclpy.duration import Duration
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSProfile,
    ReliabilityPolicy,
)
import yaml

DEFAULT_DEPTH = 10  # of a publisher whose depth nobody told
_FOREVER = {'sec': 9223372036, 'nsec': 854775807}
_NO_TIME_NS = 0


def text_of(profiles: Sequence[QoSProfile]) -> str:
    """Return the profiles as rosbag2 writes them; '' for none."""
    rows = [_row(profile) for profile in profiles]
    return yaml.safe_dump(rows, sort_keys=False).strip() if rows else ''


def profile_of(text: str) -> QoSProfile:
    """
    Return one profile that serves whoever listened to the publishers of a text.

    Reliable or latched if one of them was; the greatest depth. What the text does not say, or
    an unreadable text, gives a reliable, volatile profile of some depth.

    """
    rows = _rows(text)
    latched = any(_is(row, 'durability', DurabilityPolicy.TRANSIENT_LOCAL) for row in rows)
    best_effort = bool(rows) and all(
        _is(row, 'reliability', ReliabilityPolicy.BEST_EFFORT) for row in rows
    )
    depths = [row.get('depth') for row in rows]
    known = [depth for depth in depths if type(depth) is int and 0 < depth < 1 << 20]
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=max(known, default=DEFAULT_DEPTH),
        reliability=ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE,
        durability=(
            DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
        ),
    )


def _row(profile: QoSProfile) -> dict[str, Any]:
    return {
        'history': profile.history.short_key,
        'depth': profile.depth,
        'reliability': profile.reliability.short_key,
        'durability': profile.durability.short_key,
        'deadline': _time(profile.deadline),
        'lifespan': _time(profile.lifespan),
        'liveliness': profile.liveliness.short_key,
        'liveliness_lease_duration': _time(profile.liveliness_lease_duration),
        'avoid_ros_namespace_conventions': profile.avoid_ros_namespace_conventions,
    }


def _time(duration: Duration) -> dict[str, int]:
    ns = duration.nanoseconds
    if ns == _NO_TIME_NS:
        return dict(_FOREVER)
    return {'sec': ns // 10**9, 'nsec': ns % 10**9}


def _rows(text: str) -> list[dict[str, Any]]:
    try:
        tree = load_plain_yaml(text) if text else []
    except (yaml.YAMLError, RecursionError):
        return []
    return [row for row in tree if isinstance(row, dict)] if isinstance(tree, list) else []


def _is(row: dict[str, Any], name: str, policy: Any) -> bool:
    """Return whether a row has a policy, by its name or its number."""
    return row.get(name) in (policy.short_key, int(policy))
