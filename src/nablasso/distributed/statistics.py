r"""Statistics on a cluster: partitions are added up where they are, by a tree of fixed order.

Each partition gives its sums on the worker that holds it; neighbours are added in pairs, level by
level, until one is left, and that one comes to the client. The tree depends on the number of
partitions alone, so the result is the same to the last bit for any number of workers and after any
of them died: what a dead worker had is computed again from the input. What travels is O(K m^2)
numbers per partition, never rows.

The client watches. If no partition and no sum is finished for ``timeout`` seconds it gives up with
a message that says who is missing; it holds no results but the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nablasso.distributed.partitions import Partition, dask, partitions
from nablasso.errors import NablassoError, WorkersTimeoutError
from nablasso.progress import track
from nablasso.spaces.frozen import FrozenSpace
from nablasso.spaces.statistics import SufficientStatistics

TIMEOUT = 600.0  # seconds; Dask itself gives a silent worker's tasks to others after 300


def distributed_statistics(
    X: Any,
    y: Any,
    space: FrozenSpace,
    *,
    sample_weight: Any = None,
    n_folds: int = 5,
    client: Any = None,
    timeout: float = TIMEOUT,
    verbose: int = 0,
) -> SufficientStatistics:
    """Statistics of a table on a cluster.

    Parameters
    ----------
    X : dask.array, shape (n, d), or dask.dataframe
    y : dask.array, shape (n,), dask series, or str
        A name stands for a column of the data frame ``X``; the others are the inputs then.
    space : FrozenSpace
        Learned on a subsample, for example ``X.sample(...)`` of a data frame.
    sample_weight : as y, optional
    n_folds : int
        Folds of a later cross-validation.
    client : distributed.Client, optional
        The current one by default.
    timeout : float
        Seconds without any progress after which to give up.
    verbose : int
        Whether to log progress and the time left.

    Returns
    -------
    SufficientStatistics
        On the client; solve there with ``fit_statistics``.

    Raises
    ------
    WorkersTimeoutError
        If the workers finish nothing for ``timeout`` seconds.
    InvalidDataError
        If a partition has other columns than the space or a value that is not finite.
    """
    client = dask("distributed").get_client() if client is None else client
    with client.as_current():
        leaves = _leaves(partitions(space, X, y, sample_weight), space, n_folds)
        statistics = _collected(client, leaves, timeout, verbose)
    statistics.warn_of_drift()
    return statistics


def _collected(
    client: Any, leaves: list[Any], timeout: float, verbose: int
) -> SufficientStatistics:
    """The sum of all leaves, brought to the client."""
    *futures, root = client.compute([*leaves, _tree(leaves)])
    try:
        finished = _as_finished(futures, client, timeout)
        for _ in track(finished, len(futures), "Partitions", verbose=verbose):
            pass
        total: SufficientStatistics = next(_as_finished([root], client, timeout, keep=True))
    finally:
        for future in (root, *futures):
            future.release()  # what nobody wants any more is not computed
    return total


def _leaves(pieces: list[Partition], space: FrozenSpace, n_folds: int) -> list[Any]:
    lazy = dask("dask").delayed
    key = f"nablasso-space-{space.fingerprint()[:16]}"
    shared = lazy(space, name=key, pure=True, traverse=False)
    compute = lazy(_partition_statistics, pure=False, traverse=False)
    return [compute(shared, n_folds, number, *piece) for number, piece in enumerate(pieces)]


def _tree(nodes: list[Any]) -> Any:
    """The sum of all, in pairs of neighbours."""
    add = dask("dask").delayed(_sum, pure=False, traverse=False)
    while len(nodes) > 1:
        pairs = [add(a, b) for a, b in zip(nodes[::2], nodes[1::2], strict=False)]
        nodes = pairs + nodes[2 * len(pairs) :]
    return nodes[0]


def _sum(a: SufficientStatistics, b: SufficientStatistics) -> SufficientStatistics:
    return a + b


def _partition_statistics(
    space: FrozenSpace,
    n_folds: int,
    number: int,
    X: Any,
    y: Any,
    weights: Any,
    target: str | None,
    weight_name: str | None,
) -> SufficientStatistics:
    """Sums over one partition; runs on a worker."""
    if target is not None:
        y = X[target]
        weights = None if weight_name is None else X[weight_name]
        X = X.drop(columns=[name for name in (target, weight_name) if name is not None])
    statistics = SufficientStatistics(space, n_folds)
    return statistics.partial_fit(X, y, weights, origin=f"Partition {number}", n_threads=1)


def _as_finished(
    futures: list[Any], client: Any, timeout: float, *, keep: bool = False
) -> Iterator[Any]:
    """Results with ``keep``, else None, as they come; raises what a worker raised."""
    wait = dask("distributed").wait
    total, pending = len(futures), set(futures)
    while pending:
        try:
            done, pending = wait(pending, timeout=timeout, return_when="FIRST_COMPLETED")
        except TimeoutError as error:
            raise _timed_out(client, total - len(pending), total, timeout) from error
        for future in done:
            if future.status == "error":
                _raise(future)
            yield future.result(timeout=timeout) if keep else None
            if not keep:
                future.release()  # its sum goes up the tree and is not held for the client


def _raise(future: Any) -> None:
    error = future.exception()
    if isinstance(error, NablassoError):
        raise error
    raise NablassoError(
        f"A partition could not be computed: {type(error).__name__}: {error}. Look at the logs of "
        "the workers; partitions that do not fit in their memory should be smaller."
    ) from error


def _timed_out(client: Any, done: int, total: int, timeout: float) -> WorkersTimeoutError:
    workers = len(client.scheduler_info(n_workers=-1)["workers"])
    return WorkersTimeoutError(
        f"The workers have finished nothing for {timeout:g} seconds; {done} of {total} partitions "
        f"are done and {workers} workers are connected. One of them may be gone or stuck: look at "
        "the cluster, restart it, or raise timeout=..."
    )
