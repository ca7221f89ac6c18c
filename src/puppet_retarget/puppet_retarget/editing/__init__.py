# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Motions changed offline, as models of arrays: enhancement of captured data."""
