# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Serial and network ports, and the thread that reads them."""
