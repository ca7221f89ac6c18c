# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Moved to puppet_core.io.parameter_rows."""

from puppet_core.io.parameter_rows import *  # noqa: F401,F403
