"""Every check with what trips it and what only just does not, by concern."""

from tests.components.checks.cases import (
    addresses,
    downloads,
    egress,
    machines,
    network,
    refused,
    runtimes,
    scheduling,
    versions,
)

CASES = (
    *addresses.CASES,
    *network.CASES,
    *machines.CASES,
    *scheduling.CASES,
    *versions.CASES,
    *runtimes.CASES,
    *downloads.CASES,
    *egress.CASES,
    *refused.CASES,
)
