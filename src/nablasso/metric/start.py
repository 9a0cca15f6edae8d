"""Where a walk starts: a kernel, how wide it is, how sharply scales follow derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nablasso.kernels import (
    AdditivePower,
    DotProductKernel,
    Gaussian,
    Kernel,
    Linear,
    Matern52,
    Polynomial,
)

Array = NDArray[np.float64]

WIDTH_ROWS = 300  # rows that the median distance is taken over
POWERS = (1.0, 0.5)

# Low orders see in high dimension what an isotropic kernel cannot; the isotropic ones see
# interactions of any order among few variables. Offsets and widths are relative to the data.
FAMILIES: tuple[tuple[Kernel, float], ...] = (
    (Linear(), 1.0),
    (Polynomial(2, 0.05), 1.0),
    (Polynomial(2, 0.5), 1.0),
    (Polynomial(3, 0.05), 1.0),
    (Polynomial(3, 0.5), 1.0),
    (AdditivePower(1), 1.0),
    (AdditivePower(2, 0.05), 1.0),
    (AdditivePower(2, 0.5), 1.0),
    (AdditivePower(3, 0.3), 1.0),
    (Gaussian(), 0.5),
    (Gaussian(), 1.0),
    (Gaussian(), 2.0),
    (Matern52(), 1.0),
)

FORWARD: tuple[tuple[Kernel, float], ...] = ((Polynomial(2, 0.5), 1.0), (Gaussian(), 1.0))
FORWARD_WORK = 1e8  # groups times rows cubed


@dataclass(frozen=True)
class Start:
    """A kernel family member and the power of its passes.

    The kernel's width is ``multiplier`` times what is natural on the data: the median distance for
    kernels of the distance, the root mean square length of a row for kernels of the dot product.
    An additive power has no width; its offset is in units of the mean of its additive part.
    ``forward`` starts from few variables, taken in one by one, instead of from all.
    """

    kernel: Kernel
    multiplier: float = 1.0
    power: float = 1.0
    forward: bool = False

    @property
    def family(self) -> str:
        """What is the same in kernels that differ in width or offset only."""
        kernel = self.kernel
        size = getattr(kernel, "degree", getattr(kernel, "order", ""))
        return f"{type(kernel).__name__} {size}".strip()

    def bind(self, X: Array, weights: Array) -> tuple[Kernel, float]:
        """The kernel and the width for scaled points ``X``."""
        if isinstance(self.kernel, AdditivePower):
            Phi, _ = self.kernel.features(X)
            mean = float(weights @ np.einsum("ib,ib->i", Phi, Phi)) or 1.0
            offset = float(f"{self.kernel.offset * mean:.3g}")  # a number that people can read
            return clone(self.kernel).set_params(offset=offset), 1.0
        if isinstance(self.kernel, DotProductKernel):
            width = float(np.sqrt(weights @ np.einsum("ia,ia->i", X, X)))
        else:
            width = self.kernel.width(X[:WIDTH_ROWS], weights[:WIDTH_ROWS], "median")
        return self.kernel, self.multiplier * (width or 1.0)

    def __str__(self) -> str:
        width = f" x {self.multiplier:g}" if self.multiplier != 1 else ""
        forward = "forward, " if self.forward else ""
        return f"{forward}{self.kernel!r}{width}, power {self.power:g}"


def default_starts(n_samples: int, n_groups: int) -> list[Start]:
    """All families with both powers; forward ones where they are affordable."""
    starts = [Start(kernel, width, power) for power in POWERS for kernel, width in FAMILIES]
    if n_groups * n_samples**3 <= FORWARD_WORK:
        starts += [Start(kernel, width, forward=True) for kernel, width in FORWARD]
    return starts


def starts_of(kernel: Kernel) -> list[Start]:
    """Starts with the user's own kernel: three widths where it has one, both powers."""
    widths = (0.5, 1.0, 2.0) if kernel.has_width else (1.0,)
    return [Start(kernel, width, power) for power in POWERS for width in widths]
