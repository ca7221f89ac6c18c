# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Calibration commands: from a running tracker, a bag or a clip; surface points of bodies."""
