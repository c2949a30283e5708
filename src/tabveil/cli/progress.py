"""How far the work is, on standard error: a bar on a terminal, a line now and then where there is none."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.text import Text

from tabveil.cli.exit_codes import Interrupted
from tabveil.cli.screen import Screen
from tabveil.cli.time_left import TimeLeft
from tabveil.core.wording import duration
from tabveil.core.workers import Listener, working

SECONDS, MOST_SECONDS = 10.0, 60.0
"""Between two lines: a log is never silent for long, and the longer the work lasts the rarer lines are."""

LINES = 20
"""So many at the pace of the moment would tell all that has passed."""


@contextmanager
def progress_to_go_on(*, quiet: bool) -> Iterator[Listener]:
    """Show how far work is that is kept as it goes, and say so to whoever interrupts it."""
    try:
        with progress_shown(quiet=quiet) as listener:
            yield listener
    except KeyboardInterrupt:
        raise Interrupted("interrupted; what was done is kept, run the same command to go on.") from None


@contextmanager
def progress_shown(*, quiet: bool, title: str = "") -> Iterator[Listener]:
    """Hand out a listener that shows what it hears; warnings of long work are shown, too."""
    screen = Screen(stderr=True)
    if quiet:
        yield lambda _doing, _share: None
        return
    with working(warned=screen.say), (_bar if screen.is_terminal else _lines)(screen, title) as listener:
        yield listener


class _TimeLeftColumn(ProgressColumn):
    """The time left, beside a bar."""

    max_refresh = 0.5  # seconds: words that change faster cannot be read

    def __init__(self, left: TimeLeft) -> None:
        super().__init__()
        self._left = left

    def render(self, task: Task) -> Text:  # noqa: ARG002 - there is one task, and its clock is here
        """Write it."""
        return Text(self._left.text(), style="progress.remaining")


def _what_is_left_of_the_line() -> Column:
    """Keep long texts from squeezing the bar and the times."""
    return Column(ratio=1, no_wrap=True, overflow="ellipsis")


@contextmanager
def _bar(screen: Screen, title: str) -> Iterator[Listener]:
    """Draw a bar that moves, and is gone when the work is done."""
    left = TimeLeft()
    bar = Progress(
        SpinnerColumn(),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        _TimeLeftColumn(left),
        TextColumn("{task.description}", markup=False, table_column=_what_is_left_of_the_line()),
        console=screen,
        transient=True,
        expand=True,
    )
    with bar:
        task = bar.add_task(title, total=1.0)

        def listen(doing: str, share: float) -> None:
            left.hear(share)
            bar.update(task, description=f"{title}{doing}", completed=share)

        yield listen


def _pause(elapsed: float) -> float:
    """Return the seconds until the next line."""
    return max(SECONDS, min(elapsed / LINES, MOST_SECONDS))


@contextmanager
def _lines(screen: Screen, title: str) -> Iterator[Listener]:
    """Write a line at intervals, by a clock of its own: also when the work says nothing for long."""
    left, ended, latest = TimeLeft(), Event(), ("starting", 0.0)

    def listen(doing: str, share: float) -> None:
        nonlocal latest
        latest = doing, share
        left.hear(share)

    def write() -> None:
        while not ended.wait(_pause(left.elapsed())):
            doing, share = latest
            to_go = left.text()
            times = f"{duration(left.elapsed())}, {share:.0%} done{to_go and f', {to_go}'}"
            screen.say(f"{times}: {title}{doing}")

    clock = Thread(target=write, daemon=True)
    clock.start()
    try:
        yield listen
    finally:
        ended.set()
        clock.join()
