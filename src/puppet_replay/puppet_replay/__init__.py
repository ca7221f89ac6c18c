# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Bags of the puppet graph: recorded, played, replayed deterministically, compared, plotted."""
