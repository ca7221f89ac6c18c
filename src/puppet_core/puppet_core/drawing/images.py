# Copyright 2026 The puppet suite authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures as arrays, written as PNG files."""

from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from puppet_core.io import replacing

Picture = NDArray[np.uint8]  # shape (height, width, 3), screen values

TEXT_COLOUR = (45, 50, 58)


def save_png(path: str | Path, picture: Picture) -> None:
    """Write a picture, all or nothing."""
    with replacing(path) as temporary:
        Image.fromarray(picture).save(temporary, format='PNG', optimize=True)


def png_bytes(picture: Picture) -> bytes:
    """Return a picture as what a PNG file holds."""
    data = BytesIO()
    Image.fromarray(picture).save(data, format='PNG', optimize=True)
    return data.getvalue()
