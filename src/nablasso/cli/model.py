"""From the options of the command to an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from nablasso import (
    DerivativeLassoClassifierCV,
    DerivativeLassoCV,
    NablassoClassifier,
    NablassoRegressor,
)
from nablasso.data.encoding import Groups
from nablasso.data.roles import Data
from nablasso.errors import InvalidParameterError
from nablasso.kernels import Anova, Kernel, Polynomial, as_kernel

N_ALPHAS, N_FOLDS = 30, 5  # of the derivative methods, unless said otherwise

ELASTIC = 0.5  # share of the norms in the penalty of the elastic net

LARGEST_SEED = 2**32 - 1


class Method(StrEnum):
    """Everything automatic, or one penalty on the partial derivatives."""

    NABLASSO = "nablasso"
    LASSO = "lasso"
    ELASTIC_NET = "elastic-net"


@dataclass(frozen=True)
class KernelChoice:
    """A kernel by name, with the one number that two of them have."""

    name: str
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


def choose_kernel(name: str | None, degree: int | None, order: int | None) -> KernelChoice | None:
    """The kernel that the options name; None leaves it to the method."""
    if name is None and (degree is not None or order is not None):
        option, owner = ("--order", "anova") if degree is None else ("--degree", "polynomial")
        raise InvalidParameterError(
            f"{option} belongs to --kernel {owner}; no kernel was named. Leave {option} out or add "
            f"--kernel {owner}."
        )
    return None if name is None else KernelChoice(name, degree, order)


@dataclass(frozen=True)
class Settings:
    """What the options ask for, apart from files and columns; None is left to the method."""

    method: Method = Method.NABLASSO
    kernel: KernelChoice | None = None
    n_alphas: int | None = None
    n_folds: int | None = None
    fdr: float | None = None
    max_features: int | None = None
    n_jobs: int | None = None
    seed: int | None = None

    @property
    def is_automatic(self) -> bool:
        """Whether the method chooses kernel and weights by itself."""
        return self.method is Method.NABLASSO

    def check(self) -> None:
        """Refuse what no table could be fitted with, before one is read."""
        if self.kernel is not None:
            self.kernel.build()
        self._check_owner("--alphas", self.n_alphas, (Method.LASSO, Method.ELASTIC_NET))
        self._check_owner("--jobs", self.n_jobs, (Method.LASSO, Method.ELASTIC_NET))
        self._check_owner("--fdr", self.fdr, (Method.NABLASSO,))
        self._check_owner("--max-features", self.max_features, (Method.NABLASSO,))
        if self.fdr is not None and not 0 < self.fdr < 1:
            raise InvalidParameterError(
                "--fdr is the expected share of false discoveries, between 0 and 1, for example "
                f"0.1; got {self.fdr:g}."
            )
        if self.n_jobs == 0:
            raise InvalidParameterError(
                "--jobs must be a number of processes, or -1 for all cores; got 0."
            )
        if self.seed is not None and not 0 <= self.seed <= LARGEST_SEED:
            raise InvalidParameterError(
                f"--seed must be between 0 and {LARGEST_SEED}; got {self.seed}."
            )

    def _check_owner(self, option: str, value: object, owners: tuple[Method, ...]) -> None:
        if value is not None and self.method not in owners:
            raise InvalidParameterError(
                f"{option} belongs to --method {' and '.join(owners)}; the method is "
                f"{self.method}. Leave {option} out or change the method."
            )

    def model(self, data: Data, groups: Groups | None = None) -> Any:
        """The estimator, not fitted yet; ``groups`` are of the table's columns."""
        partition = data.partition(groups)
        shared: dict[str, Any] = {
            "always_keep": data.encoding.expand(data.kept) or None,
            "feature_groups": partition,
            "random_state": self.seed,
        }
        if self.is_automatic:
            automatic = NablassoClassifier if data.has_classes else NablassoRegressor
            return automatic(
                "auto" if self.kernel is None else self.kernel.build(),
                cv=self.n_folds,
                fdr=self.fdr,
                max_features=self.max_features,
                **shared,
            )
        kind = DerivativeLassoClassifierCV if data.has_classes else DerivativeLassoCV
        return kind(
            (self.kernel or KernelChoice("gaussian")).build(),
            alphas=self.n_alphas or N_ALPHAS,
            cv=self.n_folds or N_FOLDS,
            l1_ratio=ELASTIC if self.method is Method.ELASTIC_NET else 1.0,
            n_jobs=self.n_jobs,
            **shared,
        )
