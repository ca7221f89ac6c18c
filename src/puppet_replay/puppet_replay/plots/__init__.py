# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Plots and tables of a bag over time: importance, feet, filter, latency."""
