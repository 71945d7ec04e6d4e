"""Requests to the clouds' public price interfaces."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from components.catalogue import instance_sizes
from operations.console.exits import Exit, Stop

SECONDS = 30
"""Timeout of an HTTP connection and of each read."""
MOST_PAGES = 200
"""Limit on the pages of an answer: more count as an endless answer."""

Answers = dict[tuple[str, str], float]
"""USD by region and key."""


@dataclass(frozen=True)
class Wanted:
    """A question for prices: regions, and instance types in each of them."""

    regions: tuple[str, ...]
    sizes: tuple[str, ...]


class Found:
    """Prices collected from answers. Two different prices of one key are an error: the query was ambiguous."""

    def __init__(self) -> None:
        self.answers: Answers = {}

    def add(self, region: str, key: str, amount: float) -> None:
        """Add a price. Raises Stop if the key already has another one."""
        before = self.answers.setdefault((region, key), amount)
        if before != amount:
            raise Stop(Exit.FAILED, f"two prices of {key} in {region}: {before:g} and {amount:g}")


def get_json(url: str, params: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None) -> Any:
    """Return the JSON of an answer. Raises Stop with the host and the reason, ValueError if it is not JSON."""
    with _open(url, params, headers) as answer:
        answer.read()
        return answer.json()


@contextmanager
def lines(url: str) -> Iterator[Iterable[str]]:
    """Yield the lines of an answer as they arrive. Raises Stop with host and reason, also while lines arrive."""
    with _open(url, None, None) as answer:
        yield answer.iter_lines()


@contextmanager
def _open(url: str, params: Mapping[str, str] | None, headers: Mapping[str, str] | None) -> Iterator[httpx.Response]:
    host = urlsplit(url).netloc
    try:
        with httpx.stream("GET", url, params=params, headers=headers, timeout=SECONDS) as answer:
            answer.raise_for_status()
            yield answer
    except httpx.HTTPStatusError as error:
        raise Stop(Exit.FAILED, f"{host} answered {error.response.status_code}") from error
    except httpx.TimeoutException as error:
        raise Stop(Exit.FAILED, f"{host} did not answer within {SECONDS} s") from error
    except httpx.HTTPError as error:
        raise Stop(Exit.FAILED, f"the request to {host} failed: {error}") from error


def premiums(found: Found, region: str, windows: Mapping[str, float]) -> None:
    """Add the premium of Windows: the most frequent price per vCPU, and each type whose premium differs.

    windows: USD per hour with Windows, by type. Types that are burstable or unknown get a price of their own.
    """
    vcpus = {
        size: known.vcpu
        for size in windows
        if (known := instance_sizes.size(size)) and not instance_sizes.is_burstable(size)
    }
    own = {
        size: round(amount - found.answers[region, size], 6)
        for size, amount in windows.items()
        if (region, size) in found.answers
    }
    per_vcpu = [round(own[size] / vcpus[size], 6) for size in own if size in vcpus]
    usual = max(sorted(set(per_vcpu)), key=per_vcpu.count) if per_vcpu else None
    if usual is not None:
        found.add(region, "windows-vcpu", usual)
    for size, amount in own.items():
        if usual is None or size not in vcpus or abs(amount - usual * vcpus[size]) > 5e-6:
            found.add(region, f"windows/{size}", amount)
