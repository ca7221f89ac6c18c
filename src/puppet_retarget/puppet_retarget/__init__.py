# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Retargeting: from a performer's posture to importance and to the puppet's posture."""
