"""Kernels with their derivatives in the inputs."""

from __future__ import annotations

from nablasso.errors import InvalidParameterError, NotTwiceDifferentiableError
from nablasso.kernels.base import WIDTH_RULES, Kernel, KernelOperator, Scaled, Sum, length_scale
from nablasso.kernels.dot_product import AdditivePower, DotProductKernel, Linear, Polynomial
from nablasso.kernels.radial import (
    Anova,
    Gaussian,
    Matern52,
    RadialKernel,
    RationalQuadratic,
    Rough,
    Stated,
)

KERNELS: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "matern": Matern52,
    "rational_quadratic": RationalQuadratic,
    "rough": Rough,
    "linear": Linear,
    "polynomial": Polynomial,
    "anova": Anova,
    "additive_power": AdditivePower,
}

_TOO_ROUGH = ("laplacian", "laplace", "exponential", "matern12", "matern32", "triangular")


def as_kernel(kernel: str | Kernel) -> Kernel:
    """Return the kernel object that a name or an object stands for."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel in KERNELS:
            return KERNELS[kernel]()
        if kernel.lower() in _TOO_ROUGH:
            raise NotTwiceDifferentiableError(
                f"The kernel must be twice differentiable; {kernel!r} is not. "
                'Use "matern" (smoothness 5/2) or "gaussian".'
            )
    raise InvalidParameterError(
        f"kernel must be one of {', '.join(KERNELS)} or a nablasso.kernels.Kernel object; "
        f"got {kernel!r}."
    )


__all__ = [
    "KERNELS",
    "WIDTH_RULES",
    "AdditivePower",
    "Anova",
    "DotProductKernel",
    "Gaussian",
    "Kernel",
    "KernelOperator",
    "Linear",
    "Matern52",
    "Polynomial",
    "RadialKernel",
    "RationalQuadratic",
    "Rough",
    "Scaled",
    "Stated",
    "Sum",
    "as_kernel",
    "length_scale",
]
