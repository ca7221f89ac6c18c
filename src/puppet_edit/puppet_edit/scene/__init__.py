# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What constraints are made for: feet, surfaces, seams of clips, doorways, other bodies."""
