# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The whole graph behind a tracker on serial ports."""

from functools import partial

from puppet_bringup.launch import describe

generate_launch_description = partial(describe, 'hardware')
