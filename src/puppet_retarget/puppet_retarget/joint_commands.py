# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Position commands for a robot's joints, or none and why (no ROS and no clock in here).

A deadman: there are no commands without joint states of the robot, nor from input that is late or
not measured. The first command, and the first after a pause, is where the robot is. From there the
joints go to the puppet's angles at a bounded speed, those without limits the shorter way round. No
command is far from where the robot is.
"""

from collections.abc import Sequence
import math

import numpy as np
from puppet_core.body import Robot
from puppet_core.io import ConfigError
from puppet_core.math import Floats
from puppet_retarget.parameters import ALL_JOINTS, CommandConfig

STALE_S = 0.25  # silence, or an age of the input, from which on nothing is sent
NEAR_RAD = 0.1  # what gravity may bend a robot by that holds its last command
STEEPEST = 1.5  # slope of the cubic ease in its middle


class JointCommands:
    """The commands to one controller; times are of one steady clock [s]."""

    def __init__(self, robot: Robot | None, config: CommandConfig) -> None:
        """Raise ConfigError for a puppet that is no robot, or joints that it does not have."""
        if robot is None:
            wanted = 'command_type: expected none for a character that is no robot'
            raise ConfigError(f'{wanted}, got {config.type!r}')
        names, self.config, self.joints = robot.published_names, config, config.joints
        if self.joints == ALL_JOINTS:
            self.joints = tuple(names[i] for i in robot.urdf_order)
        for name in self.joints:
            if name not in names or self.joints.count(name) > 1:
                wanted = f'joints of the robot, each once: {", ".join(names)}'
                raise ConfigError(f'command_joints: expected {wanted}; got {name!r}')
        self.warning = ''
        """What was wrong with the last step, in words."""
        self._places = np.array([names.index(name) for name in self.joints])
        has_limits = dict(zip(robot.names, np.isfinite(robot.lower) | np.isfinite(robot.upper)))
        self._turn = 2.0 * math.pi * np.array([not has_limits.get(n, True) for n in self.joints])
        self._turns = np.zeros(len(self.joints))  # from the puppet's angles to the robot's [rad]
        self._measured = np.full(len(self.joints), math.nan)
        self._heard_s = np.full(len(self.joints), -math.inf)  # of each joint
        self._base = self._last = np.zeros(0)
        self._asked_s = self._fresh_s = self._sent_s = self._close_s = -math.inf
        self._phase = 0.0  # of the way from `_base` to the puppet's angles

    def take_states(self, names: Sequence[str], positions: Floats, now_s: float) -> None:
        """Take where some joints of the robot are, (n,) [rad]; others may be among them."""
        found = dict(zip(names, positions))
        measured = np.array([found.get(name, math.nan) for name in self.joints])
        is_known = np.isfinite(measured)
        self._measured = np.where(is_known, measured, self._measured)
        self._heard_s[is_known] = now_s

    def step(self, angles: Floats, is_measured: bool, age_s: float, now_s: float) -> Floats | None:
        """
        Return the next command, in the order of `joints` [rad], or None.

        `angles` are the puppet's [rad]; `is_measured` says whether its performer was, `age_s` how
        long ago [s].
        """
        self._asked_s = now_s
        if is_measured:
            self._fresh_s = now_s
        refusal = self._refusal(age_s, now_s)
        self.warning = f'not sent: {refusal}' if refusal else ''
        if refusal:
            return None
        wanted, measured, dt_s = angles[self._places], self._measured, now_s - self._sent_s
        if dt_s > STALE_S:
            last = self._last if len(self._last) else measured
            self._turns = self._whole_turns(measured - wanted)
            self._base = np.clip(last, measured - NEAR_RAD, measured + NEAR_RAD)
            self._phase, self._close_s, dt_s = 0.0, now_s, 0.0
        else:
            measured = measured - self._whole_turns(measured - self._last)
        wanted = wanted + self._turns
        span = max(float(np.abs(wanted - self._base).max()), 1e-6)
        self._phase = min(self._phase + dt_s * self.config.start_rad_s / (STEEPEST * span), 1.0)
        fade = self._phase * self._phase * (3.0 - 2.0 * self._phase)
        asked, lead = self._base + fade * (wanted - self._base), self.config.lead_rad
        command = np.clip(asked, measured - lead, measured + lead)
        if np.all(command == asked):
            self._close_s = now_s
        elif now_s - self._close_s > STALE_S:
            self.warning = 'wait for the robot, which lags behind'
            self._base, self._phase = command, 0.0
        self._last, self._sent_s = command, now_s
        return command

    def report(self, now_s: float) -> str:
        """Return what becomes of the commands, in words."""
        if now_s - self._asked_s > STALE_S:
            return 'not sent: no input'
        return self.warning or 'sent'

    def _whole_turns(self, angles: Floats) -> Floats:
        """Return the whole turns nearest to angles of joints without limits, 0 of others [rad]."""
        return self._turn * np.round(angles / (2.0 * math.pi))

    def _refusal(self, age_s: float, now_s: float) -> str:
        is_stale = now_s - self._heard_s > STALE_S
        if is_stale.all():
            return f'no joint states of the robot on {self.config.state_topic}'
        if is_stale.any():
            return f'the robot has no joint state of {self.joints[int(np.argmax(is_stale))]}'
        if not abs(age_s) <= STALE_S:
            return 'the input is late'
        return '' if now_s - self._fresh_s <= STALE_S else 'the performer is not measured'
