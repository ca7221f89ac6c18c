# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The Kalman filter of the tracker sensors (Shin2002 ch. 3), and measurement of their noise."""
