"""The command ``nablasso``: parse, call the public API, print.

Nothing here computes. The packages of the ``cli`` extra are imported when the command runs, so that
without them one line can say how to install them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from nablasso.errors import MissingExtraError

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
    except MissingExtraError as error:
        sys.stderr.write(f"nablasso: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("nablasso: interrupted\n")
        sys.exit(INTERRUPTED)


def _load_app() -> Callable[..., Any]:
    """Import the commands, with everything that the extra installs."""
    try:
        from nablasso.cli.app import app
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRA:
            raise
        raise MissingExtraError(
            f"The command needs {missing}, which is not installed; "
            'install it with: pip install "nablasso[cli]"'
        ) from error
    return app


def _tolerate_narrow_encodings() -> None:
    """Let a terminal that cannot show a column's name show a question mark instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
