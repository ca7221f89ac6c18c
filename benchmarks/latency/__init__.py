# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet bench latency`: how long frames take from the tracker to the joint states."""
