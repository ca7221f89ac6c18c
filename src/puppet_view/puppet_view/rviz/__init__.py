# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""What RViz shows: the visualization node, TF frames of bodies and robots, markers."""
