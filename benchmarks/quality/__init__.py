# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet bench quality`: quality and speed over clips, characters and solvers."""
