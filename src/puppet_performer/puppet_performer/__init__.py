# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The performer: sensors are calibrated to segments, and each frame of them becomes a posture."""
