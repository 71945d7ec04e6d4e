"""Every check with what trips it and what only just does not, by concern."""

from tests.components.checks.cases import (
    addresses,
    downloads,
    egress,
    existing_network,
    ingress,
    machines,
    network,
    no_egress,
    node_programs,
    open_access,
    refused,
    runtimes,
    scheduling,
    service_zones,
    sessions,
    versions,
)

CASES = (
    *addresses.CASES,
    *network.CASES,
    *existing_network.CASES,
    *service_zones.CASES,
    *ingress.CASES,
    *machines.CASES,
    *scheduling.CASES,
    *versions.CASES,
    *runtimes.CASES,
    *downloads.CASES,
    *egress.CASES,
    *no_egress.CASES,
    *open_access.CASES,
    *node_programs.CASES,
    *refused.CASES,
    *sessions.CASES,
)
