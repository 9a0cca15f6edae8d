"""The command ``nablasso``: parse, call the public API, print.

Nothing here computes. The packages of the ``cli`` extra are imported when the command runs, so that
without them one line can say how to install them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

EXTRA = ("typer", "rich", "pandas")
UNEXPECTED = 3
INTERRUPTED = 130  # what shells report for Ctrl-C


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command on ``arguments``, by default those after ``nablasso`` where it was called.

    Leaves the interpreter with an exit code: 0 done, 1 error in the data, a file or a parameter, 2
    wrong usage, 3 a fault of nablasso, 130 interrupted.
    """
    try:
        for package in (name for name in EXTRA if find_spec(name) is None):
            sys.stderr.write(
                f"nablasso: The command needs {package}, which is not installed; "
                'install it with: pip install "nablasso[cli]"\n'
            )
            sys.exit(1)
        from nablasso.cli.app import app

        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a narrow encoding shows question marks
                stream.reconfigure(errors="replace")
        app(args=arguments, prog_name="nablasso")
    except KeyboardInterrupt:
        sys.stderr.write("nablasso: interrupted\n")
        sys.exit(INTERRUPTED)
