"""One cheap fitted model and its report."""

import numpy as np
import pytest

from nablasso import NablassoRegressor
from nablasso.report import build_report


@pytest.fixture(scope="session")
def table():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 5))
    X[:, 4] = X[:, 0] + 0.4 * rng.normal(size=60)
    frame = pandas.DataFrame(
        {"a": X[:, 0], "big": 100 + 10 * X[:, 1], "c": X[:, 2], "d": X[:, 3], "like_a": X[:, 4]}
    )
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=60)
    return frame, y


@pytest.fixture(scope="session")
def model(table):
    return NablassoRegressor("polynomial", cv=3).fit(*table)


@pytest.fixture(scope="session")
def report(model, table):
    return build_report(model, table[0], target="price", source="houses.csv", seconds=1.5)
