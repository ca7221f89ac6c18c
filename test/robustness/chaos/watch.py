# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The observer of a fault run: joint states joined with what else is known of their frames.

Also keeps what the diagnostics say, as far as it is no good news.
"""

from collections import deque, OrderedDict
import time
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
from puppet_bringup.monitor import JOINTS_TOPIC, PUPPET_TOPIC, STATUS_TOPIC
from puppet_core.math import Floats
from puppet_msgs.msg import Posture, RetargetStatus
from puppet_ros.messages import flat_array
from puppet_ros.node import DIAGNOSTICS_TOPIC, qos
from rclpy.node import Node
from rclpy.qos import QoSProfile
from robustness.chaos.recovery import MotionCheck, Recovery, recovery, Seen
from sensor_msgs.msg import JointState

# deep, so that nothing is lost while this process waits for its turn
DEPTH = 2000
MAX_WAIT_S = 0.2  # of joint states for the rest of their frame
KEPT_FRAMES = 400  # of postures and statuses that wait for their joint states
KEPT_S = 120.0  # of arrivals


class Arrived(NamedTuple):
    """Joint states that wait for the rest of their frame."""

    arrival_s: float
    stamp_ns: int
    angles: Floats


class ChaosWatch(Node):
    """
    Sees all joint states, and judges them.

    Parameters
    ----------
    rate_hz : float
        Nominal rate [Hz].

    """

    def __init__(self, rate_hz: float, **kwargs: Any) -> None:
        super().__init__('chaos_watch', **kwargs)
        self.check = MotionCheck()
        self._rate_hz = rate_hz
        self._waiting: deque[Arrived] = deque()
        self._roots: OrderedDict[int, Floats] = OrderedDict()
        self._statuses: OrderedDict[int, tuple[bool, int]] = OrderedDict()
        self._arrivals: deque[tuple[float, bool]] = deque(maxlen=round(KEPT_S * rate_hz))
        self._is_eased = False
        self._index: int | None = None  # of the last frame
        self.lost = 0
        """Frames of the tracker since `begin` that became no joint states, by their numbers."""
        self._said: dict[str, float] = {}
        self._last: dict[str, list[str]] = {}  # what each reported last
        self._old: dict[str, set[str]] = {}  # what each has reported without a pause since before
        for kind, topic, callback, profile in (
            (JointState, JOINTS_TOPIC, self._on_joints, qos.JOINT_STATES),
            (Posture, PUPPET_TOPIC, self._on_posture, qos.STREAM),
            (RetargetStatus, STATUS_TOPIC, self._on_status, qos.STREAM),
        ):
            self.create_subscription(kind, topic, callback, _deep(profile))
        self.create_subscription(
            DiagnosticArray, DIAGNOSTICS_TOPIC, self._on_diagnostics, _deep(qos.JOINT_STATES)
        )

    def begin(self) -> None:
        """Forget what was seen and reported; another fault is about to come."""
        self.settle()
        self.check.restart()
        self.lost = 0
        self._said.clear()
        self._old = {name: set(texts) for name, texts in self._last.items()}

    @property
    def standing(self) -> list[str]:
        """Return what the diagnostics report now: errors stay for a while after their cause."""
        return [text for texts in self._last.values() for text in texts]

    @property
    def said(self) -> list[str]:
        """Return what the diagnostics have newly reported since `begin`, by the first time."""
        return list(self._said)

    def recovery(self, begin_s: float, end_s: float) -> Recovery | None:
        """Return how the joint states recovered from a cause, None while that is unknown."""
        self.settle()
        since = [a for a in self._arrivals if a[0] > begin_s - 1.0]
        times, eased = [a[0] for a in since], [a[1] for a in since]
        return recovery(times, eased, begin_s, end_s, self._rate_hz)

    def settle(self) -> None:
        """Judge the joint states whose frames are complete, or do not become so."""
        now_s = time.monotonic()
        while self._waiting:
            arrival_s, stamp_ns, angles = self._waiting[0]
            root, status = self._roots.get(stamp_ns), self._statuses.get(stamp_ns)
            if (root is None or status is None) and now_s - arrival_s < MAX_WAIT_S:
                return
            self._waiting.popleft()
            # where stamps go back, the next frame of this stamp is another one
            self._roots.pop(stamp_ns, None)
            self._statuses.pop(stamp_ns, None)
            is_eased, n_solved = status if status is not None else (self._is_eased, None)
            self._is_eased = is_eased
            self._arrivals.append((arrival_s, is_eased))
            self.check.add(Seen(arrival_s, 1e-9 * stamp_ns, angles, root, is_eased, n_solved))

    def _on_joints(self, msg: JointState) -> None:
        angles = np.array(msg.position, dtype=float)
        stamp_ns = flat_array.stamp_ns(msg.header.stamp)
        self._waiting.append(Arrived(time.monotonic(), stamp_ns, angles))
        self.settle()

    def _on_posture(self, msg: Posture) -> None:
        root = np.concatenate((msg.root_position, msg.rotations[[3, 0, 1, 2]]))
        _keep(self._roots, flat_array.stamp_ns(msg.header.stamp), root)

    def _on_status(self, msg: RetargetStatus) -> None:
        stamp_ns = flat_array.stamp_ns(msg.header.stamp)
        _keep(self._statuses, stamp_ns, (msg.easing, msg.frames_solved))
        if self._index is not None and msg.frame_index > self._index:  # else of a new driver
            self.lost += msg.frame_index - self._index - 1
        self._index = msg.frame_index

    def _on_diagnostics(self, msg: DiagnosticArray) -> None:
        for status in msg.status:
            name = status.name.removesuffix(': stream')
            is_well = status.level == DiagnosticStatus.OK
            # a standing error may be reported together with another one
            parts = [] if is_well else status.message.split('; ')
            texts = self._last[name] = [f'{name}: {part}' for part in parts]
            old = self._old[name] = self._old.get(name, set()) & set(texts)
            for text in texts:
                if text not in old:
                    self._said.setdefault(text, time.monotonic())


def _keep(kept: OrderedDict[int, Any], stamp_ns: int, value: Any) -> None:
    kept[stamp_ns] = value
    if len(kept) > KEPT_FRAMES:
        kept.popitem(last=False)


def _deep(profile: QoSProfile) -> QoSProfile:
    return QoSProfile(
        history=profile.history,
        depth=DEPTH,
        reliability=profile.reliability,
        durability=profile.durability,
    )
