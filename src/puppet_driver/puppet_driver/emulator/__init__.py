# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated tracker that the driver cannot tell from hardware."""
