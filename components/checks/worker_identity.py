"""Identities of workers in the cloud."""

from collections.abc import Iterator

from components.checks.check import Finding, Subject, at, error, warning
from components.naming import Share
from components.spec.choices import WorkerIdentity

OF_CONTROL_PLANE, OF_POOL = 2, 2
"""Conditional role bindings on the bundle store of an account of many machines: what they read, what they write."""
POLICY_BYTES = 50_000
"""Bytes of a policy that Google should take: "The size of the policy is limited to a few 10s of KB" (IAM API reference,
SetIamPolicyRequest). No page has the exact number."""
BINDING_BYTES, LONGEST_STEM = 553, 23
"""Bytes for a worker besides names of ours, with a project id of 30 characters, the most; characters of an account's id
before its last seven (components/gcp/identity.py)."""
READING = 1
"""Conditional role bindings of a pool whose workers have accounts of their own: what they read."""


def _elsewhere(subject: Subject) -> Iterator[Finding]:
    facts = subject.spec.cloud.facts
    if subject.spec.worker_identity is WorkerIdentity.POOL and not facts.identity_of_pool:
        yield at("worker_identity", title=facts.title)


def _share(subject: Subject) -> Share:
    return subject.spec.worker_identity.share(subject.spec.cloud)


def _counts(subject: Subject) -> list[int]:
    """Return the numbers of machines of pools that have machines."""
    return [group.count for group in subject.workers if group.count]


def _workers(subject: Subject) -> Iterator[Finding]:
    """Find more workers with accounts of their own than the bundle store's policy takes.

    What all workers of a pool read is one binding with several members; what each writes is a binding of its own
    (components/gcp/identity.py). While a change of `worker_identity` replaces the workers, the pools' accounts have
    their bindings too.
    """
    limit, counts = subject.spec.cloud.facts.bindings_limit, _counts(subject)
    if limit is None or _share(subject) is not Share.NONE:
        return
    most = limit - OF_CONTROL_PLANE - (READING + OF_POOL) * len(counts)
    if sum(counts) > most:
        yield at("worker_identity", count=sum(counts), limit=limit, most=max(most, 0))


def _pools(subject: Subject) -> Iterator[Finding]:
    limit, counts = subject.spec.cloud.facts.bindings_limit, _counts(subject)
    if limit is None or _share(subject) is not Share.POOL:
        return
    most = (limit - OF_CONTROL_PLANE) // OF_POOL
    if len(counts) > most:
        yield at("pools", count=len(counts), limit=limit, most=most)


def policy_bytes(cluster: str, machine: str) -> int:
    """Return the bytes that a worker with an account of its own adds to the bundle store's policy, as JSON.

    Its own binding names the bucket and the worker three times, and its account; its pool's binding names the account.
    """
    account = min(len(cluster) + len(f"-{machine}"), LONGEST_STEM)
    return BINDING_BYTES + 4 * len(cluster) + 3 * len(machine) + 2 * account


def _large(subject: Subject) -> Iterator[Finding]:
    """Find workers whose role bindings make the bundle store's policy larger than Google may take."""
    if subject.spec.cloud.facts.bindings_limit is None or _share(subject) is not Share.NONE:
        return
    names = [f"{group.name}-{index}" for group in subject.workers for index in range(group.count)]
    size = sum(policy_bytes(subject.name, name) for name in names)
    if size > POLICY_BYTES:
        yield at("worker_identity", count=len(names), size=size // 1000, most=POLICY_BYTES // 1000)


CHECKS = (
    error(
        "worker-identity-elsewhere",
        "worker_identity cloud",
        _elsewhere,
        "on {title} the rights of each worker are limited to its own records, so the workers of a pool cannot share an"
        " account",
        "remove worker_identity",
    ),
    error(
        "worker-identity-limit",
        "worker_identity pools.*.count cloud",
        _workers,
        "{count} workers cannot have a service account each: the policy of a bucket takes {limit} conditional role"
        " bindings, of which the control plane needs two, each worker one and each pool three (two of them only while a"
        " change of worker_identity replaces its workers), so at most {most} workers fit",
        "write worker_identity: pool, with which root on a worker can overwrite the status records, logs and"
        " announcements of the other workers of its pool, or divide the workers among several clusters",
    ),
    warning(
        "worker-policy-size",
        "worker_identity pools.*.count cloud",
        _large,
        "{count} workers with a service account each make the policy of the bundle store about {size} kB large, and"
        ' Google may refuse more than {most} kB ("a few 10s of KB"): `up` would then fail at the grants of the last'
        " workers",
        "write worker_identity: pool before the first `up` (a later change replaces the workers), or divide the workers"
        " among several clusters",
    ),
    error(
        "pool-identity-limit",
        "pools.*.count worker_identity cloud",
        _pools,
        "{count} pools cannot have a service account each: the policy of a bucket takes {limit} conditional role"
        " bindings, of which the control plane and each pool need two, so at most {most} pools with machines fit",
        "make fewer pools, or divide them among several clusters",
    ),
)
