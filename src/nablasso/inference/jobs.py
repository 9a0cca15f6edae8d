"""Independent jobs, in parallel, in a fixed order: the result is the same for any ``n_jobs``.

Each job uses one thread of linear algebra, so that jobs neither wait for each other nor round
differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypeVar

from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from nablasso.progress import track

Result = TypeVar("Result")


def run_jobs(
    job: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    *,
    label: str,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Result]:
    """``job(*a)`` for each ``a`` of ``arguments``, with progress."""
    calls = (delayed(_on_one_thread)(job, a) for a in arguments)
    results: Iterable[Result] = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    return list(track(results, len(arguments), label, verbose=verbose))


def _on_one_thread(job: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    with _controller().limit(limits=1):
        return job(*arguments)


@cache
def _controller() -> ThreadpoolController:
    """Made once per process: to look for the libraries takes longer than many a job."""
    return ThreadpoolController()
