"""Small files for pictures of pages: at most 256 colors, and nothing of what is empty below."""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

MOST_COLORS = 256
EMPTY = 16
"""So many empty lines stay below."""


def small(pixels: NDArray[np.uint8]) -> bytes:
    r"""Return a PNG of (height, width, 3) pixels.

    >>> small(np.zeros((40, 3, 3), np.uint8))[:4]
    b'\x89PNG'
    """
    shown = _without_empty_lines(pixels)
    height, width, _ = shown.shape
    colors, numbers = _palette(shown.reshape(-1, 3))
    lines = np.zeros((height, 1 + width), np.uint8)  # each begins with its filter: none
    lines[:, 1:] = numbers.reshape(height, width)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", colors.tobytes()), (b"IDAT", zlib.compress(lines.tobytes(), 9)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in (*parts, (b"IEND", b"")))


def _without_empty_lines(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Leave out the lines at the end that are all of one color."""
    drawn = np.flatnonzero((pixels != pixels[-1:, :1]).any(axis=(1, 2)))
    return pixels[: drawn[-1] + 1 + EMPTY] if len(drawn) else pixels[:EMPTY]


def _palette(pixels: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Return the most frequent colors, and for each pixel the nearest of them."""
    found, numbers, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    kept = found[np.argsort(counts, kind="stable")[::-1][:MOST_COLORS]]
    apart = ((found[:, None].astype(np.int64) - kept[None].astype(np.int64)) ** 2).sum(axis=2)
    return kept, apart.argmin(axis=1)[numbers.ravel()]


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
