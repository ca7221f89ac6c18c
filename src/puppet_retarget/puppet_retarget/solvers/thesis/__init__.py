# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
The thesis' solver, module by section (Shin2002 ch. 5): read it beside the paper.

`root` is 5.1 with `ball_intersection` (app. A), `body` 5.2, `ranges` 5.3.1 and 5.3.2, `limbs` and
`objects` 5.3.3; `elbow_circle` is the limb of the slides (ShinSlides 3.3); `errata` says what is
wrong in print; `solver` puts the steps together. Nothing is kept from frame to frame.
"""
