"""A real browser for tests: Chromium without a window, started anew for every picture."""

import functools
import os
import shutil
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path

import numba
import numpy as np

from supplies.needs import need

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--v=0",
)
SECONDS = 60


@functools.cache
def chromium():
    """The browser's path, or None."""
    given = os.environ.get("TABVEIL_CHROMIUM")
    return given or next((found for name in NAMES if (found := shutil.which(name))), None)


def need_chromium():
    need(chromium(), "a Chromium: install one, or name it in the environment variable TABVEIL_CHROMIUM")


def run(page, *options):
    """Open a page with these options; returns what the browser printed and what it complained about."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [chromium(), *FLAGS, f"--user-data-dir={profile}", *options, page.as_uri()],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def screenshot(page: Path, target: Path, *, width, height, dark=False):
    """Photograph the upper left of a page; returns (height, width, 3) pixels and the console's lines."""
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    _, console = run(page, f"--window-size={width},{height}", f"--screenshot={target}", *scheme)
    return pixels(target), console


def print_pdf(page: Path, target: Path):
    """Print a page as its own style sheet says; returns the console's lines."""
    return run(page, f"--print-to-pdf={target}", "--no-pdf-header-footer")[1]


def dump(page: Path):
    """Return the document as it stands after loading."""
    return run(page, "--dump-dom", "--virtual-time-budget=5000", "--allow-file-access-from-files")[0]


def pixels(path: Path):
    """Decode a PNG of 8-bit RGB or RGBA, as the browser writes them."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, packed = 8, b""
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        place += size + 12
    assert depth == 8
    channels = {2: 3, 6: 4}[color]
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    return _unfilter(lines, channels).reshape(height, width, channels)[:, :, :3]


@numba.njit
def _unfilter(lines, channels):
    """Undo the filter of every line: none, left, above, their mean, or Paeth's choice among the neighbors."""
    height, width = lines.shape[0], lines.shape[1] - 1
    out = np.zeros((height, width), np.uint8)
    for y in range(height):
        kind = lines[y, 0]
        for x in range(width):
            left = np.int64(out[y, x - channels]) if x >= channels else 0
            up = np.int64(out[y - 1, x]) if y else 0
            corner = np.int64(out[y - 1, x - channels]) if y and x >= channels else 0
            guess = 0
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = up
            elif kind == 3:
                guess = (left + up) // 2
            elif kind == 4:
                by_left, by_up = abs(up - corner), abs(left - corner)
                by_corner = abs(left + up - 2 * corner)
                if by_left <= by_up and by_left <= by_corner:
                    guess = left
                else:
                    guess = up if by_up <= by_corner else corner
            out[y, x] = (lines[y, x + 1] + guess) % 256
    return out
