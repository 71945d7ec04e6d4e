"""One suite for all clouds: `make test` runs each test on a cloud drawn by its seed, `make soak` on all."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from operations.clouds import cloud_tables
from tests import existing_networks
from tests.seed import SEED

from . import variants

CLOUDS = tuple(cloud_tables.CLOUDS)
KINDS = ("dev", "ci", "prod")
STACKS = (*(f"{cloud}-{kind}" for cloud in CLOUDS for kind in KINDS), "aws-docker")
"""Stacks of `make soak`."""

EXISTING = tuple(f"{cloud}-{existing_networks.KIND}" for cloud in CLOUDS)
"""The stacks for production in a network of the user."""

VARIANTS = tuple(f"{cloud}-{variants.BASE}-{each}" for cloud in CLOUDS for each in variants.VARIANTS)
"""The stacks for CI with further options."""

FOR_CI = (*(f"{cloud}-{variants.BASE}" for cloud in CLOUDS), *VARIANTS)
"""The stacks for CI, without and with further options."""

SAMPLED = "sampled"


def two(of: Sequence[str]) -> dict[str, str]:
    """Return two elements under fixed names, because tests are named by them."""
    return dict(zip(("one drawn", "another drawn"), random.Random(SEED).sample(of, 2), strict=True))


def each(kind: str) -> list[Any]:
    """Return parameters for `stack`: the stack of this kind (ci, dev, prod) of one cloud; in soak, of every cloud."""
    return [f"{SAMPLED}-{kind}", *(pytest.param(f"{cloud}-{kind}", marks=pytest.mark.soak) for cloud in CLOUDS)]


def one(of: Sequence[str]) -> list[Any]:
    """Return parameters for `drawn`: one of these stacks; in soak, each."""
    return [SAMPLED, *(pytest.param(each, marks=pytest.mark.soak) for each in of)]


def drawn(parameter: str, of: Sequence[str], what: str) -> str:
    """Return the stack of a parameter of `one`. what: name of the test."""
    name = random.Random(f"{SEED} {what}").choice(of) if parameter == SAMPLED else parameter
    print(f"MULLION_SEED={SEED}: {what} on {name}")  # noqa: T201 - pytest shows it where the test fails
    return name


def stack(parameter: str, what: str) -> str:
    """Return the stack of a parameter. what: name of the test, so that the tests of a run draw different clouds."""
    sampled, _, kind = parameter.partition("-")
    of_kind = [each for each in (*STACKS, *EXISTING, *VARIANTS) if each.partition("-")[2] == kind]
    name = random.Random(f"{SEED} {what}").choice(of_kind) if sampled == SAMPLED else parameter
    print(f"MULLION_SEED={SEED}: {what} on {name}")  # noqa: T201 - pytest shows it where the test fails
    return name
