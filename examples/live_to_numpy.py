# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Collect a live stream into numpy: /joint_states of the running graph.

    ./puppet demo                                  # in one terminal
    eval "$(./puppet dev shell-env)"; python live_to_numpy.py [FRAMES] [TIMEOUT_S]

It prints the shape, rate and range of what came.
"""

import sys
from time import monotonic

import numpy as np

TOPIC = '/joint_states'


def collect(n_frames: int, timeout_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times (n,) [s] and angles (n, joints) [rad], fewer than asked for at a timeout."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    times: list[float] = []
    angles: list[np.ndarray] = []

    def keep(message: JointState) -> None:
        times.append(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)
        angles.append(np.array(message.position))

    rclpy.init()
    node = rclpy.create_node('live_to_numpy')
    node.create_subscription(JointState, TOPIC, keep, qos_profile_sensor_data)
    end = monotonic() + timeout_s
    try:
        while len(times) < n_frames and monotonic() < end:
            rclpy.spin_once(node, timeout_sec=0.1)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return np.array(times[:n_frames]), np.array(angles[:n_frames])


def main(n_frames: str = '100', timeout_s: str = '10') -> None:
    try:
        times, angles = collect(int(n_frames), float(timeout_s))
    except ImportError as error:
        sys.exit(f'rclpy: expected ROS 2, got {error}; eval "$(./puppet dev shell-env)" brings it')
    if len(times) < 2:
        sys.exit(f'{TOPIC}: expected messages within {timeout_s} s, got {len(times)}')
    rate_hz = (len(times) - 1) / (times[-1] - times[0])
    print(f'{angles.shape[0]} frames of {angles.shape[1]} joints at {rate_hz:.1f} Hz')
    print(f'angles from {np.nanmin(angles):.2f} to {np.nanmax(angles):.2f} rad')


if __name__ == '__main__':
    main(*sys.argv[1:3])
