# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The tracker driver: its node, the device protocols and a device emulator. No filtering."""
