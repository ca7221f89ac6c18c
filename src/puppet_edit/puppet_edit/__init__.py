# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The motion editor (LeeShin1999) and enhancement by measured end-effectors (ChoiParkKo)."""
