"""Penalties on derivative norms: value, proximal operators, conjugate."""

from nablasso.penalties.base import Penalty
from nablasso.penalties.elastic_net import ElasticNet
from nablasso.penalties.group_lasso import GroupLasso
from nablasso.penalties.partition import Partition

__all__ = ["ElasticNet", "GroupLasso", "Partition", "Penalty"]
