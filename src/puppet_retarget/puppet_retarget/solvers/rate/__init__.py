# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop inverse rate control of any articulated tree (ChoiKo2000)."""
