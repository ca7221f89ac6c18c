# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""`./puppet bench rate`: inverse rate control on the experiments of its paper (ChoiKo2000)."""
