# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Performer's posture and importance to the puppet's posture (Shin2002 ch. 5)."""
