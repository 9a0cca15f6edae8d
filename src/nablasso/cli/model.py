"""From the options of the command to an estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from nablasso import DerivativeElasticNetCV, DerivativeGroupLassoCV, DerivativeLassoCV
from nablasso.cli.groups_file import Groups
from nablasso.exceptions import InvalidParameterError
from nablasso.kernels import Anova, Kernel, Polynomial, as_kernel

Model = DerivativeLassoCV | DerivativeGroupLassoCV | DerivativeElasticNetCV

LARGEST_SEED = 2**32 - 1


class Method(StrEnum):
    """The penalty on the partial derivatives."""

    LASSO = "lasso"
    ELASTIC_NET = "elastic-net"


@dataclass(frozen=True)
class KernelChoice:
    """A kernel by name, with the one number that two of them have."""

    name: str = "gaussian"
    degree: int | None = None
    order: int | None = None

    def build(self) -> Kernel:
        """The kernel object; refuses a number that the kernel does not have."""
        kernel = as_kernel(self.name)
        for option, value, owner in (
            ("--degree", self.degree, Polynomial),
            ("--order", self.order, Anova),
        ):
            if value is not None and not isinstance(kernel, owner):
                raise InvalidParameterError(
                    f"{option} belongs to --kernel {owner.__name__.lower()}; the kernel is "
                    f"{self.name}. Leave {option} out or change the kernel."
                )
        if isinstance(kernel, Polynomial):
            return Polynomial(degree=kernel.degree if self.degree is None else self.degree)
        if isinstance(kernel, Anova):
            return Anova(order=kernel.order if self.order is None else self.order)
        return kernel

    def __str__(self) -> str:
        kernel = self.build()
        if isinstance(kernel, Polynomial):
            return f"{self.name} of degree {kernel.degree}"
        if isinstance(kernel, Anova):
            return f"{self.name} of order {kernel.order}"
        return self.name


@dataclass(frozen=True)
class Settings:
    """What the options ask for, apart from files and columns."""

    method: Method = Method.LASSO
    kernel: KernelChoice = field(default_factory=KernelChoice)
    n_alphas: int = 30
    n_folds: int = 5
    n_jobs: int | None = None
    seed: int | None = None

    def check(self) -> None:
        """Refuse what no table could be fitted with, before one is read."""
        self.kernel.build()
        if self.n_jobs == 0:
            raise InvalidParameterError(
                "--jobs must be a number of processes, or -1 for all cores; got 0."
            )
        if self.seed is not None and not 0 <= self.seed <= LARGEST_SEED:
            raise InvalidParameterError(
                f"--seed must be between 0 and {LARGEST_SEED}; got {self.seed}."
            )

    def model(self, kept: tuple[str, ...] = (), groups: Groups | None = None) -> Model:
        """The estimator, not fitted yet."""
        kind: type[Model]
        if self.method is Method.ELASTIC_NET:
            kind = DerivativeElasticNetCV
        else:
            kind = DerivativeLassoCV if groups is None else DerivativeGroupLassoCV
        return kind(
            self.kernel.build(),
            alphas=self.n_alphas,
            cv=self.n_folds,
            n_jobs=self.n_jobs,
            random_state=self.seed,
            always_keep=list(kept) or None,
            feature_groups=groups,
        )
