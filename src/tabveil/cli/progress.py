"""How far the work is, on standard error: a bar on a terminal, a line now and then where there is none.

How long it will still take is judged by how long the share that is done has taken. Compiling takes long on
the first run alone, and is left out of that.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

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
from tabveil.core.progress_file import ProgressFile
from tabveil.core.wording import duration
from tabveil.core.workers import COMPILING, Listener, unheard, working

Done = TypeVar("Done")

LEAST_SHARE = 0.05
LEAST_SECONDS = 3.0
"""Before so much is done, and so long, nobody can tell."""

STEADINESS = 10.0
"""Within so many seconds an answer follows what is found out: it neither jumps nor lags."""

MINUTE, HALF_A_MINUTE = 60, 30


class TimeLeft:
    """The time left, as one hears of shares that are done.

    Parts of the work that take longer than their share would make the answer jump. So it moves towards what
    the share done says, a little with every second that passes, and counts down on its own in between.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = self._asked = clock()
        self._share = 0.0
        self._end: float | None = None
        self._compiled = 0.0
        self._compiling: float | None = None  # since when

    def hear(self, share: float, *, compiling: bool = False) -> None:
        """Take note of how much is done; time that is spent compiling tells nothing of the rest."""
        self._share = share
        if compiling or self._compiling is not None:
            now = self._clock()
            self._compiled += 0.0 if self._compiling is None else now - self._compiling
            self._compiling = now if compiling else None

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return self._clock() - self._start

    def seconds(self) -> float | None:
        """Return the seconds left; None while nobody can tell."""
        clock = self._clock()
        now = (clock if self._compiling is None else self._compiling) - self._compiled
        passed, self._asked = now - self._asked, now
        if self._share < LEAST_SHARE or now - self._start < LEAST_SECONDS:
            return None
        end = self._start + (now - self._start) / self._share
        if self._end is None:
            self._end = end
        self._end += (end - self._end) * min(passed / STEADINESS, 1.0)
        return max(self._end - now, 0.0)

    def text(self) -> str:
        """Say it in words, no finer than it is known.

        >>> left = TimeLeft(iter([0.0, 30.0]).__next__)
        >>> left.hear(0.5)
        >>> left.text()
        'about 30 s left'
        """
        seconds = self.seconds()
        return "" if seconds is None else f"about {_rounded(seconds)} left"


def _rounded(seconds: float) -> str:
    """Write seconds in steps of five, and from a minute and a half on whole minutes.

    >>> [_rounded(seconds) for seconds in (0.0, 3.0, 42.0, 61.0, 91.0, 1000.0, 9000.0)]
    ['5 s', '5 s', '45 s', '65 s', '2 min', '17 min', '150 min']
    """
    if seconds < MINUTE + HALF_A_MINUTE:
        return f"{max(-(-seconds // 5) * 5, 5):.0f} s"
    return f"{-(-seconds // MINUTE):.0f} min"


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
    left = TimeLeft()
    file = ProgressFile.asked_for(left.seconds)
    with working(noted=None if file is None else file.note):
        if quiet:
            yield _beside(unheard, file, left, title)
            return
        with (
            working(warned=partial(_said, screen)),
            (_bar if screen.is_terminal else _lines)(screen, title) as listener,
        ):
            yield _beside(listener, file, left, title)


def _beside(listener: Listener, file: ProgressFile | None, left: TimeLeft, title: str) -> Listener:
    """Let a file hear what a listener hears, where somebody asked for one."""
    if file is None:
        return listener

    def listen(doing: str, share: float) -> None:
        left.hear(share, compiling=COMPILING in doing)
        file.hear(f"{title}{doing}", share)
        listener(doing, share)

    return listen


def _said(screen: Screen, line: str) -> None:
    """Say a line; where nobody reads on, the work goes on in silence."""
    with suppress(BrokenPipeError):
        screen.say(line)


def _once(screen: Screen) -> Callable[[], None]:
    """Return what says in a line of its own that compiling has begun: the first time only."""
    said = Event()

    def notice() -> None:
        if not said.is_set():
            said.set()
            _said(screen, f"{COMPILING}: the time left does not count it, and later runs do not need it.")

    return notice


class _TimeLeftColumn(ProgressColumn):
    """The time left, beside a bar."""

    max_refresh = 0.5  # seconds: words that change faster cannot be read

    def __init__(self, left: TimeLeft) -> None:
        super().__init__()
        self._left = left

    def render(self, task: Task) -> Text:  # noqa: ARG002 - there is one task, and its clock is here
        """Write it."""
        return Text(self._left.text(), style="progress.remaining")


@contextmanager
def _bar(screen: Screen, title: str) -> Iterator[Listener]:
    """Draw a bar that moves, and is gone when the work is done."""
    left = TimeLeft()
    rest_of_line = Column(ratio=1, no_wrap=True, overflow="ellipsis")  # long texts squeeze nothing else
    bar = Progress(
        SpinnerColumn(),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        _TimeLeftColumn(left),
        TextColumn("{task.description}", markup=False, table_column=rest_of_line),
        console=screen,
        transient=True,
        expand=True,
    )
    with bar:
        task, notice = bar.add_task(title, total=1.0), _once(screen)

        def listen(doing: str, share: float) -> None:
            compiling = COMPILING in doing
            left.hear(share, compiling=compiling)
            if compiling:
                notice()
            bar.update(task, description=f"{title}{doing}", completed=share)

        yield listen


def _pause(elapsed: float) -> float:
    """Return the seconds until the next line."""
    return max(SECONDS, min(elapsed / LINES, MOST_SECONDS))


@contextmanager
def _lines(screen: Screen, title: str) -> Iterator[Listener]:
    """Write a line at intervals, by a clock of its own: also when the work says nothing for long."""
    left, ended, latest, notice = TimeLeft(), Event(), ("starting", 0.0), _once(screen)

    def listen(doing: str, share: float) -> None:
        nonlocal latest
        latest = doing, share
        compiling = COMPILING in doing
        left.hear(share, compiling=compiling)
        if compiling:
            notice()

    def write() -> None:
        while not ended.wait(_pause(left.elapsed())):
            doing, share = latest
            to_go = left.text()
            times = f"{duration(left.elapsed())}, {share:.0%} done{to_go and f', {to_go}'}"
            _said(screen, f"{times}: {title}{doing}")

    clock = Thread(target=write, daemon=True)
    clock.start()
    try:
        yield listen
    finally:
        ended.set()
        clock.join()


def kept(
    work: Callable[..., Done],
    config: Path,
    store: Path,
    *,
    code: Sequence[Path],
    quiet: bool,
    **asked: Any,  # noqa: ANN401 - passed on as they are
) -> Done:
    """Do work that is kept as it goes, after users' own code was imported."""
    from tabveil.workflows.cells.own_code import import_files

    import_files(code)
    with progress_to_go_on(quiet=quiet) as listener:
        return work(config, store, code=code, progress=listener, **asked)
