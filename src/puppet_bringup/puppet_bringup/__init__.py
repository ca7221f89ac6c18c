# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the graph: process table, launch descriptions, demo, supervision."""
