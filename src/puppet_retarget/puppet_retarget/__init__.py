# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Posture, importance and the solvers that drive a puppet, live and over files."""
