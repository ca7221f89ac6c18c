# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Moved to puppet_core.io.files."""

from puppet_core.io.files import *  # noqa: F401,F403
