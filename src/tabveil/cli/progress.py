"""A progress bar on standard error: only on a terminal, and gone when the work is done."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

from tabveil.workers import Listener


@contextmanager
def progress_bar(*, quiet: bool, title: str = "") -> Iterator[Listener]:
    """Hand out a listener that moves the bar."""
    console = Console(stderr=True)
    bar = Progress(
        SpinnerColumn(),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    with bar:
        task = bar.add_task(title, total=1.0)

        def listen(doing: str, share: float) -> None:
            bar.update(task, description=f"{title}{doing}", completed=share)

        yield listen
