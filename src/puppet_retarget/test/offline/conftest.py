# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the commands over clips."""

from command_rig import *  # noqa: F401, F403
