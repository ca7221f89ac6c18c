# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet bench edit`: the motion editor on the experiments of its paper (LeeShin1999)."""
