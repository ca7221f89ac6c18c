# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet stress soak`: the graph for an hour, or a simulated day."""
