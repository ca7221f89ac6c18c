# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pages in a web browser, drawn with viser: the running graph, clips to edit, recordings."""
