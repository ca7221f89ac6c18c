# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Libraries of clips retargeted by many processes: tasks, ledger, runners, summary."""
