# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Performer's posture to the importance of each end-effector (Shin2002 ch. 4)."""
