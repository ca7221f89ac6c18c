# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""From sensor poses to the performer's posture, and the calibration of both."""
