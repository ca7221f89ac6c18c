# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Views of performer and puppet: RViz markers, pages in the browser, pictures and films."""
