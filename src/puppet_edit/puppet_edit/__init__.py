# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The motion editor: constraints met by displacement maps, enhancement."""
