# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""The whole body in one weighted least-squares problem a frame."""

from puppet_retarget.solvers.whole_body.solver import WholeBodySolver
from puppet_retarget.solvers.whole_body.weights import Weights
