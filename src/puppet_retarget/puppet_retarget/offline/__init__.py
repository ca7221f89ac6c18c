# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The live models over files: clips in, clips, reports and pictures out."""
