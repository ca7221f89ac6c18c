# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Benches, and the peers and baselines they compare with; not installed."""
