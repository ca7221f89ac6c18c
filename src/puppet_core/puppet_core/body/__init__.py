# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The body: skeleton, kinematics, posture, joint limits, shape, and characters from YAML."""

from puppet_core.body import motion_measures
from puppet_core.body.capsules import (
    ADULT_LEG_M,
    Capsule,
    default_capsules,
    nearest_capsule_within,
    segment_distance,
    shape_arrays,
    ShapeArrays,
)
from puppet_core.body.character import (
    AUTO,
    Character,
    load_character,
    MAX_OFFSET_M,
    person,
    save_character,
)
from puppet_core.body.continuous_euler import (
    AXES,
    compose,
    ContinuousEuler,
    JOINT_NAMES,
    SPEED_RATIO,
)
from puppet_core.body.joint_limits import (
    JointLimit,
    MAX_ANGLE_DEG,
    read_joint_limits,
    SECTION,
    segment_axis,
    swing_axes,
)
from puppet_core.body.kinematics import (
    causal_velocities,
    end_effector_positions,
    follow_chains,
    forward_kinematics,
    hip_centre,
)
from puppet_core.body.meshes import Rods, smooth_surface
from puppet_core.body.motion_measures import (
    FASTEST_M_S,
    FASTEST_RAD_S,
    lasting,
    LONGEST_S,
    MIN_CONTACT_S,
    PERFORMER_RATIO,
    planted_soles,
    PLANTED_SPEED_M_S,
    runs,
    SHORTEST_S,
    speeds,
    whipping,
)
from puppet_core.body.posture import (
    carried_places,
    general_end_effectors,
    is_posture,
    MAX_COORDINATE_M,
    Motion,
    NO_PROPS,
    Posture,
    Props,
    UNIT_TOL,
    world_orientations,
    world_segments,
)
from puppet_core.body.robot import (
    BodyShape,
    DEFAULT_SPEED_RAD_S,
    make_tree,
    parse_urdf,
    Robot,
    RobotTree,
    ROOT,
    TURNING,
    UrdfJoint,
    UrdfLink,
    UrdfRobot,
    UrdfShape,
)
from puppet_core.body.skeleton import (
    CONSIDERED,
    END_EFFECTORS,
    GENERAL_END_EFFECTORS,
    LIMB_SEGMENTS,
    LIMBS,
    N_SEGMENTS,
    PARENTS,
    SEGMENT_INDEX,
    SEGMENTS,
    Skeleton,
)
from puppet_core.body.surface import (
    N_RINGS,
    N_ROUND,
    N_SAMPLES,
    read_surface,
    save_surface,
    surface_samples,
)
from puppet_core.body.two_bone_limb import polar_limit, soft_distance, soft_distance_slope
