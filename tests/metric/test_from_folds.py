"""A fold's groups are taken when they are clearly better, and only then."""

from __future__ import annotations

import numpy as np

from nablasso.kernels import Gaussian
from nablasso.metric import Start
from nablasso.metric.cross_fit import FoldFits
from nablasso.metric.from_folds import Ranked, best_ranked
from nablasso.metric.nested import mean_fit, ridge_fit
from tests.metric.samples import draw_sample

START = Start(Gaussian())
SIZE = 1


def fold_of(sample, groups, scale: float = 0.7) -> FoldFits:
    """A fold that ranks the groups in this order and has fitted all of them at ``SIZE``."""
    groups = np.array(groups)
    columns = sample.columns(groups)
    train = sample.first(len(sample.X) - 5)
    fit = ridge_fit(train, Gaussian(), columns, np.full(len(columns), scale))
    rest = np.setdiff1d(np.arange(sample.n_groups), groups)
    order = np.concatenate([groups, rest])
    return FoldFits(np.arange(5), order, [0, len(groups)], [mean_fit(train), fit], np.empty(0))


def ranked_of(sample, groups) -> Ranked:
    return Ranked(np.array(groups), np.ones(sample.n_groups))


def test_the_clearly_better_fold_decides_and_brings_its_scales() -> None:
    sample = draw_sample(n=60)
    folds = [fold_of(sample, [0, 2]), fold_of(sample, [1, 0]), fold_of(sample, [3, 0])]
    groups, scales = best_ranked(sample, START, ranked_of(sample, [0, 3]), folds, SIZE)
    assert groups.tolist() == [1, 0]
    assert scales.tolist() == [0.7, 0.7, 0, 0]


def test_groups_of_columns_have_one_scale_each() -> None:
    sample = draw_sample(n=60, labels=[0, 0, 1, 2])
    wrong = ranked_of(sample, [1])
    groups, scales = best_ranked(sample, START, wrong, [fold_of(sample, [0])], SIZE)
    assert groups.tolist() == [0]
    assert scales.tolist() == [0.7, 0, 0]


def test_what_is_as_good_stays() -> None:
    sample = draw_sample(n=60)
    right = ranked_of(sample, [0, 1])
    worse = [fold_of(sample, [0, 2]), fold_of(sample, [1, 3])]
    assert best_ranked(sample, START, right, worse, SIZE) is right
    same = [fold_of(sample, [1, 0], scale) for scale in (0.3, 0.7, 1.0)]
    assert best_ranked(sample, START, right, same, SIZE) is right
    useless = ranked_of(sample, [2])
    assert best_ranked(sample, START, useless, [fold_of(sample, [3])], SIZE) is useless


def test_no_groups_stay_none() -> None:
    sample = draw_sample(n=20)
    nothing = Ranked(np.empty(0, dtype=int), np.ones(4))
    assert best_ranked(sample, START, nothing, [fold_of(sample, [0])], 0) is nothing


def test_groups_are_those_that_the_fold_fitted_and_never_more() -> None:
    sample = draw_sample(n=60)
    fold = fold_of(sample, [0, 1])
    groups, _ = best_ranked(sample, START, ranked_of(sample, [0, 2, 3]), [fold], SIZE)
    assert groups.tolist() == [0, 1]  # the fold stopped before a third
    one = ranked_of(sample, [2])
    assert best_ranked(sample, START, one, [fold], SIZE) is one
