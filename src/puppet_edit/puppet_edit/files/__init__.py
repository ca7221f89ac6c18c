# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Edit files: what a motion has to do, read and written."""
