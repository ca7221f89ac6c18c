# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The process table, and the programs that start it."""
