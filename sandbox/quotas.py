"""Service quotas: how many resources an account may have, and the API's error beyond that.

A setting of the cloud state changes a quota: `CloudState.set_setting("quota/VPCs per region", "1")`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sandbox.cloud import Refusal, Request, Rule
from sandbox.cloud_state import CloudState


@dataclass(frozen=True)
class Quota:
    """One quota.

    default: limit of a new account, from the service's page of quotas. granted: limit of the sandbox's account.
    message: may hold {limit}, {region}, {account}, {wanted} and {used} (the count before the call).
    """

    default: int
    code: str
    message: str
    granted: int | None = None


@dataclass(frozen=True)
class Quotas:
    """The quotas of one cloud, by name."""

    rows: Mapping[str, Quota]

    def limit(self, cloud_state: CloudState, name: str) -> int:
        """Return the limit in this cloud state."""
        row = self.rows[name]
        return int(cloud_state.setting(f"quota/{name}") or row.granted or row.default)

    def at_most(self, name: str, count: Callable[[Request], int] | None = None) -> Rule:
        """Return a rule that refuses creations beyond the quota. count: resources so far."""

        def rule(request: Request) -> None:
            if request.old is not None:
                return
            existing = count(request) if count else request.cloud_state.count(request.type, request.region)
            self.refuse_over(request, name, existing + 1)

        return rule

    def refuse_over(self, request: Request, name: str, wanted: int, used: int = 0) -> None:
        """Raise Refusal if used and wanted together exceed the quota."""
        most = self.limit(request.cloud_state, name)
        if used + wanted > most:
            row, place = self.rows[name], {"account": request.account, "region": request.region}
            raise Refusal(row.code, row.message.format(limit=most, wanted=wanted, used=used, **place))


def beside(target: str, path: str) -> Callable[[Request], int]:
    """Return a function that counts resources of the request's type that refer to the same `target` at `path`."""

    def count(request: Request) -> int:
        referrers = request.cloud_state.referrers(target, str(request.inputs.get(path, "")))
        return sum(record.type == request.type for record in referrers)

    return count
