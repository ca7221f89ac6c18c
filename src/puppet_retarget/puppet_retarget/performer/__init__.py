# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From sensors to posture: layouts, calibration, the estimate of every frame (SPEC 3.3)."""
