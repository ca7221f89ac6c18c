# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""
Clean feet that slide: find when heels and toes stand, and hold them there.

    python clean_feet.py [CLIP] [OUTPUT.bvh]

It makes the clip slide (the root drifts sideways by 5 cm/s) if it is the sample, and prints how
far feet slide while they stand, before and after.
"""

import sys

import numpy as np
import puppet
from puppet_edit.editor import edit_motion, FlatSurface
from puppet_edit.scene import detect_contacts, on_terrain

FLOOR = FlatSurface(0.0)
DRIFT_M_S = 0.05


def slide_mm_s(motion: puppet.Motion, stands: np.ndarray) -> float:
    """Return the mean speed over ground of feet in frames in which they stand."""
    steps = np.diff(motion.end_effectors[:, 2:4, :2], axis=0) * motion.rate_hz
    held = stands[1:] & stands[:-1]
    return float(1000.0 * np.linalg.norm(steps, axis=-1)[held].mean()) if held.any() else 0.0


def main(clip: str = 'walk', output: str = 'clean.bvh') -> None:
    motion = puppet.load_clip(clip)
    if clip == 'walk':
        roots = motion.root_positions.copy()
        roots[:, 1] += DRIFT_M_S * np.arange(motion.n_frames) / motion.rate_hz
        motion = puppet.Motion.from_rotations(
            motion.skeleton, motion.rate_hz, roots, motion.rotations
        )
    stands = detect_contacts(motion, FLOOR).planted  # (n, 2), left and right
    held = on_terrain(motion, FLOOR)  # the same floor: feet stand firmly where they stood
    clean = edit_motion(motion, held.constraints).motion
    before, after = slide_mm_s(motion, stands), slide_mm_s(clean, stands)
    print(f'feet stand in {100.0 * stands.mean():.0f} % of the frames')
    print(f'they slide {before:.1f} mm/s before and {after:.1f} mm/s after')
    puppet.save_clip(clean, output)


if __name__ == '__main__':
    main(*sys.argv[1:3])
