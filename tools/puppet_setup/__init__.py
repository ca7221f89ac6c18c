# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
What stands behind `./puppet`: set up, build and run the suite, with the standard library only.

One module per concept. Nothing of the suite is imported here: nothing of it may be there yet.
"""
