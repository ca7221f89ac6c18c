# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
How fast anything on a body moves: what is faster is no motion but an error or a leap.

The fastest limbs that sport science measures are kicking feet, 17 m/s, and elbows that extend
in a pitch, 2400 deg/s = 42 rad/s (Corcoran2024, Fleisig1999).

"""

FASTEST_M_S = 20.0
FASTEST_RAD_S = 60.0

# A performer's body is slower: above the 42 rad/s of that elbow and the 12.4 m/s of a sprinter.
PERFORMER_RATIO = 0.75

SHORTEST_S = 1.0 / 240.0  # frames are not nearer; stamps may be
LONGEST_S = 1.0 / 24.0  # nothing goes on at its fastest for longer than a frame of a film
