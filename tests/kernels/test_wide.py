"""With more columns than rows the products go through other arrays: same numbers."""

import numpy as np
import pytest

from nablasso.kernels import Gaussian, Linear, Matern52, Polynomial, base


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Matern52(4.0), Linear(), Polynomial(3, 0.5)])
@pytest.mark.parametrize("n_points", [5, 8])
def test_products_with_few_rows(kernel, n_points, monkeypatch):
    monkeypatch.setattr(base, "BLOCK_ELEMENTS", 20)  # several blocks of columns
    rng = np.random.default_rng(0)
    n, d = 5, 17
    Z, X = rng.normal(size=(n_points, d)), rng.normal(size=(n, d))
    u, v = rng.normal(size=n), rng.normal(size=(n, d))
    operator = kernel.between(Z, X)
    assert operator.wide
    D, L = operator.dense()
    Dv, carry = operator.push(v)
    gradients = np.einsum("iaj,j->ia", D, u) + np.einsum("iajb,jb->ia", L, v)
    np.testing.assert_allclose(operator.pull(u, v, carry), gradients, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        operator.slopes(u), np.einsum("iaj,j->ia", D, u), rtol=1e-10, atol=1e-12
    )
    assert carry.shape == (n_points, n)
    # D'v by differences of values along v, centre by centre
    h = 1e-6
    moved = sum(
        (kernel(Z, X + h * _only(v, j)) - kernel(Z, X - h * _only(v, j)))[:, j] for j in range(n)
    )
    np.testing.assert_allclose(Dv, moved / (2 * h), rtol=1e-6, atol=1e-8)


def _only(v, j):
    return np.where(np.arange(len(v))[:, None] == j, v, 0.0)
