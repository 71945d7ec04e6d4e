"""Service quotas: how many of a thing an account may have, and what the API says to one more.

A world may have others: `CloudState.set_setting("quota/VPCs per region", "1")`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sandbox.cloud import Refusal, Request, Rule
from sandbox.cloud_state import CloudState


@dataclass(frozen=True)
class Quota:
    """default: what a new account has, by the service's page of quotas. granted: what the sandbox's account has.

    message: may have {limit}, {region}, {account}, {wanted} and {used} (what there was before).
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
        """The quota as it is in this world."""
        row = self.rows[name]
        return int(cloud_state.setting(f"quota/{name}") or row.granted or row.default)

    def at_most(self, name: str, count: Callable[[Request], int] | None = None) -> Rule:
        """A rule on creation: no more than the quota. count: those there are besides; all of the type in the region."""

        def rule(request: Request) -> None:
            if request.old is not None:
                return
            there = count(request) if count else request.cloud_state.count(request.type, request.region)
            self.refuse_over(request, name, there + 1)

        return rule

    def refuse_over(self, request: Request, name: str, wanted: int, used: int = 0) -> None:
        """Refuse more than the quota."""
        most = self.limit(request.cloud_state, name)
        if used + wanted > most:
            row, place = self.rows[name], {"account": request.account, "region": request.region}
            raise Refusal(row.code, row.message.format(limit=most, wanted=wanted, used=used, **place))


def beside(target: str, path: str) -> Callable[[Request], int]:
    """How many things of the request's type refer to the same one of `target`, whose id is the input `path`."""
    return lambda request: sum(
        one.type == request.type for one in request.cloud_state.referrers(target, str(request.inputs.get(path, "")))
    )
