# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Tracker driver node, tracker protocols and the device emulator."""
