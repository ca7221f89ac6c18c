# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How fast anything on a body moves: what is faster is no motion but an error or a leap.

The fastest limbs that sport science measures are kicking feet, 17 m/s, and elbows that extend
in a pitch, 2400 deg/s = 42 rad/s (Corcoran2024, Fleisig1999).

"""

FASTEST_M_S = 20.0
FASTEST_RAD_S = 60.0
