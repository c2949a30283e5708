"""How long will it still take? Judged by how long the share that is done has taken."""

import time
from collections.abc import Callable

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

    def hear(self, share: float) -> None:
        """Take note of how much is done."""
        self._share = share

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return self._clock() - self._start

    def seconds(self) -> float | None:
        """Return the seconds left; None while nobody can tell."""
        now = self._clock()
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
