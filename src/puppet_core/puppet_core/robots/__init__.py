# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Humanoid robots as characters: their descriptions, checks and files."""

from puppet_core.robots.character_check import findings, require_t_pose
from puppet_core.robots.description import (
    description_text,
    link_chain,
    merged_parts,
    Part,
    read_shape,
    robot_name,
    urdf_text,
)
from puppet_core.robots.drawn import drawn_robot, DrawnRobot
from puppet_core.robots.limbs import load_robot_map, RobotMap
from puppet_core.robots.robot_character import character_from_urdf
from puppet_core.robots.robot_files import find_mesh
from puppet_core.robots.trajectory import LinkKinematics, SUFFIXES, trajectory_data
