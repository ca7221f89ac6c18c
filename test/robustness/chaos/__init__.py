# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet stress chaos`: faults in the running graph."""
