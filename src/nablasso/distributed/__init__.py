"""Statistics of tables on a cluster of Dask (extra ``distributed``)."""

from nablasso.distributed.statistics import distributed_statistics

__all__ = ["distributed_statistics"]
