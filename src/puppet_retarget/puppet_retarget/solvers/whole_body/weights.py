# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""All numbers of the whole-body solver; doc/solver.md shows half and double of each."""

from typing import NamedTuple


class Weights(NamedTuple):
    """Weights are in units of that of a limb's joint, 1 /rad^2."""

    # posture, Shin2002 eq. 5.5: how firmly the performer's gesture is kept
    root: float = 40.0  # [1/m2]
    pelvis: float = 30.0  # [1/rad2]
    trunk: float = 6.0  # spine and chest [1/rad2]
    trunk_rad: float = 0.15  # turn of pelvis, spine or chest at which it counts twice
    lateral: float = 30.0  # knees and elbows sideways, which have no such axis [1/rad2]
    # time: a correction fades within T2, its speed within T1
    foresee_s: float = 0.023  # T1
    fade_s: float = 0.16  # T2 of joints
    fade_root_s: float = 1.0  # T2 of the root
    # ends at their goals, Shin2002 eqs. 5.2, 5.4, 5.10
    goal: float = 400.0  # [1/m2]
    goal_slack: float = 0.002  # lack of importance that halves an end's hold [-]
    turn: float = 0.5  # orientation of hands and feet, and the line of sight [1/rad2]
    # own body, Shin2002 eqs. 5.6 to 5.9
    touch: float = 60.0  # distance from a touched surface [1/m2]
    along: float = 20.0  # the place on it [1/m2]
    touch_slack: float = 0.05  # [-]
    inside: float = 10000.0  # ends in the own body, by the depth [1/m3]
    inside_m: float = 0.005  # depth that counts already at the surface
    # the world
    surface: float = 100000.0  # what is in planes and solids [1/m2]
    surface_m: float = 0.003  # depth that is let in; softly up to twice of it
    rest: float = 1000.0  # trunk and head on what they rest on [1/m2]
    # what elbows and knees count beside hands and feet, thighs and upper arms beside the trunk [-]
    limbs: float = 0.1
    rest_slack: float = 0.3  # [-]
    # joints
    limit: float = 1e6  # beyond a joint's limits [1/rad2]
    limit_rad: float = 0.005  # angle that is let through; softly up to twice of it
    rate: float = 1000.0  # a correction that changes faster than [1/rad2]
    rate_rad_s: float = 8.0
    # robots: angles nearest to the captured posture; the direction of a limb's part counts 1
    twist: float = 0.1  # turn about the direction of upper arms and thighs
    bearing_trunk: float = 1.0  # spine and chest
    bearing_head: float = 0.1
    bearing_hand: float = 0.02
    bearing_foot: float = 0.3
    neutral: float = 0.03  # of an angle to the neutral posture
    follow_s: float = 0.003  # delay of a joint whose turn counts 1; it grows towards gimbal locks
    level: float = 1.0  # orientation of soles, in place of `turn` [1/rad2]
    lost: float = 0.5  # what a limb is off by, squared, more than where it could be
    # steps
    damping: float = 0.25  # of a frame's first step, as a multiple of the posture's weight [-]
    step_tol_rad: float = 0.001  # a step of less is the last one, of the root in metres
    step_rad: float = 0.4  # longest step of a joint
