# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Benches of the tracker driver: clock, decoders, bit errors, load."""
