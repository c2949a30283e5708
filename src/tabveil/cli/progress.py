"""How far the work is, on standard error: a bar on a terminal, a line now and then where there is none."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from tabveil.cli.screen import Screen
from tabveil.wording import duration
from tabveil.workers import Listener, working

SECONDS = 15.0
"""Between two lines: a log is never silent for longer, and never full of them."""


@contextmanager
def progress_shown(*, quiet: bool, title: str = "") -> Iterator[Listener]:
    """Hand out a listener that shows what it hears; warnings of long work are shown, too."""
    screen = Screen(stderr=True)
    if quiet:
        yield lambda _doing, _share: None
        return
    with working(warned=screen.say), (_bar if screen.is_terminal else _lines)(screen, title) as listener:
        yield listener


@contextmanager
def _bar(screen: Screen, title: str) -> Iterator[Listener]:
    """Draw a bar that moves, and is gone when the work is done."""
    bar = Progress(
        SpinnerColumn(),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=screen,
        transient=True,
    )
    with bar:
        task = bar.add_task(title, total=1.0)

        def listen(doing: str, share: float) -> None:
            bar.update(task, description=f"{title}{doing}", completed=share)

        yield listen


@contextmanager
def _lines(screen: Screen, title: str) -> Iterator[Listener]:
    """Write a line at intervals, by a clock of its own: also when the work says nothing for long."""
    start, ended, latest = time.monotonic(), Event(), ("starting", 0.0)

    def listen(doing: str, share: float) -> None:
        nonlocal latest
        latest = doing, share

    def write() -> None:
        while not ended.wait(SECONDS):
            doing, share = latest
            screen.say(f"{duration(time.monotonic() - start)}, {share:.0%} done: {title}{doing}")

    clock = Thread(target=write, daemon=True)
    clock.start()
    try:
        yield listen
    finally:
        ended.set()
        clock.join()
