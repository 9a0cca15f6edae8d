"""The command ``nablasso``: parse, call the public API, print.

Nothing here computes. The packages of the ``cli`` extra are imported when the command runs, so that
without them one line can say how to install them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

EXTRA = ("typer", "rich", "pandas")
UNEXPECTED = 3
INTERRUPTED = 130  # what shells report for Ctrl-C


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave the interpreter with its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``nablasso`` on the command line; by default taken from there.

    Raises
    ------
    SystemExit
        Always: 0 done, 1 error in the data, a file or a parameter, 2 wrong usage, 3 a fault of
        nablasso, 130 interrupted.
    """
    try:
        app = _load_app()
        _tolerate_narrow_encodings()
        app(args=arguments, prog_name="nablasso")
    except ModuleNotFoundError as error:
        missing = absent_extra(error)
        if missing is None:
            raise
        sys.stderr.write(
            f"nablasso: The command needs {missing}, which is not installed; "
            'install it with: pip install "nablasso[cli]"\n'
        )
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("nablasso: interrupted\n")
        sys.exit(INTERRUPTED)


def absent_extra(error: BaseException) -> str | None:
    """The package of the ``cli`` extra whose absence is the reason of an error."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    return name if name in EXTRA else None


def _load_app() -> Callable[..., Any]:
    from nablasso.cli.app import app

    return app


def _tolerate_narrow_encodings() -> None:
    """Let a terminal that cannot show a column's name show a question mark instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
