"""Gate of a rotation of authorities: no number before every machine has followed the one before (docs/pki.md).

The state keeps the number as a Stash, and a resource hook of the engine compares it with the stack file's, in previews
too, so plain `pulumi up` has this gate. Every value that depends on the authorities waits for it: a refused number
changes nothing of the cluster.
"""

import asyncio
import hashlib
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pulumi import Output, ResourceHook, ResourceHookArgs, ResourceHookBinding, ResourceHookOptions

from components.plan import ClusterPlan
from components.rollout.provider_calls import ProviderError
from components.rollout.workers import Instances
from components.spec.authorities import KUBERNETES, Authorities, Stage, of_generation

Known = Mapping[int, str]
"""SHA-256 (hex) of the certificates of cluster authorities by generation, as far as they are known."""


class Records(Protocol):
    """The machines of a cluster in its cloud, and their status records."""

    async def known(self) -> bool:
        """Wait for what is needed to call the cloud; return whether it exists: false in a new cluster's preview."""
        ...

    async def instances(self, pool: str = "") -> Instances:
        """Return the instances of a pool's machines; empty: of all machines."""
        ...

    async def record(self, identity: str, instance: str) -> dict[str, Any]:
        """Return an instance's status record; `state: absent`, with a message, if there is none."""
        ...


@dataclass(frozen=True)
class Follower:
    """A planned machine."""

    name: str
    address: str
    identity: str
    control_plane: bool


def fingerprint(pem: str) -> str:
    """Return the SHA-256 (hex) of a certificate, as machines report it."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


def trusts(found: Sequence[str], number: int, known: Known, *, ordered: bool) -> bool:
    """Return whether fingerprints in a status record are those of a number.

    ordered: of a control plane, whose first one signs; workers trust a set. An unknown generation is any fingerprint
    that is not a known one.
    """
    wanted = [known.get(generation, "") for generation in Authorities(number).trusted]
    has = [each if each in known.values() else "" for each in found]
    return has == wanted if ordered else sorted(has) == sorted(wanted)


def not_followed(record: Mapping[str, Any], before: int, number: int, known: Known, *, control_plane: bool) -> str:
    """Return why a machine's record does not show that it follows the number before; empty if it does.

    On the way back it may follow the new number too, and a control plane that failed must not be in the way.
    """
    back = number < before
    if record["state"] == "absent":
        return f"it has no status record ({record['message']})"
    if not isinstance(record.get("authorities"), str):
        if control_plane:
            return "it has not reported its authorities since `up` with this version of Mullion; wait a few minutes"
        return "it runs scripts from before rotations and would not follow; replace it (mullion roll)"
    found = [each for each in record["authorities"].split(",") if each]
    if control_plane and record["state"] != "ready" and not back:
        return f"it reports {record['state']}, not ready"
    numbers = (before, number) if back else (before,)
    if not any(trusts(found, each, known, ordered=control_plane) for each in numbers):
        return "it does not trust the authorities of this number yet; wait a few minutes"
    return "" if back else _old_certificate(record, before, control_plane=control_plane)


def _old_certificate(record: Mapping[str, Any], before: int, *, control_plane: bool) -> str:
    """Return why a machine would be cut off when the old authority is no longer trusted; empty if it would not.

    The kubelets of control planes join again in their turn; the founder's has a certificate that is valid for a year.
    """
    now = Authorities(before)
    if now.stage is not Stage.SIGN:
        return ""
    said = record.get("kubelet_signers")
    signers = said.split(",") if isinstance(said, str) else []
    if of_generation(KUBERNETES, now.settled) not in (signers[1:] if control_plane else signers):
        return ""
    return "its kubelet still has a certificate of the old authority; it gets another within a day, or by mullion roll"


class AuthorityGate:
    """The gate of one cluster."""

    def __init__(self, cluster: str, number: int, followers: Sequence[Follower], *, simulated: bool) -> None:
        """number: of the stack file. simulated: machines of an unbooted sandbox report no authorities."""
        self._number, self._followers, self._simulated = number, followers, simulated
        self._opened = asyncio.Event()
        self._records: Records | None = None
        self._begins, self._known = True, dict[int, str]()
        check = [ResourceHook(f"{cluster}-authorities", self._check, ResourceHookOptions(on_dry_run=True))]
        self.hooks = ResourceHookBinding(before_create=check, before_update=check)

    def open(self, records: Records) -> None:
        """Set the records of machines. Until then nothing that depends on the authorities is registered."""
        self._records = records
        self._opened.set()

    def abandon(self) -> None:
        """Refuse every change of the number: the program has failed before it could call the cloud.

        The SDK waits for all registrations before it reports the program's error, so without this call for ever.
        """
        self._opened.set()

    def number(self, begins: Output[bool], certificates: Sequence[Output[str]]) -> Output[int]:
        """Return the number as the input of its resource, once the hook can ask for everything without a resource.

        Were the hook to wait for one, an engine with `--parallel 1` would wait for ever. begins: whether this run
        creates the cluster. certificates: of cluster authorities, PEM, by generation.
        """

        async def settled() -> int:
            await self._opened.wait()
            if self._records is None:
                self._begins = False
                return self._number
            exists = await self._records.known()
            self._begins = not exists or await begins.future() is not False
            found = await asyncio.gather(*(each.future() for each in certificates))
            self._known = {at: fingerprint(pem) for at, pem in enumerate(found) if pem}
            return self._number

        return Output.from_input(settled())

    async def _check(self, args: ResourceHookArgs) -> None:
        """Before the number changes, raise RuntimeError unless it is the next one and every machine has followed.

        A cluster from before this version has no number in its state: it is at 0.
        """
        before = int((args.old_inputs or {}).get("input") or 0)
        if before == self._number or self._begins:
            return
        where = f"rotation.certificate_authorities: {self._number} is refused, and nothing was changed:"
        if why := Authorities(self._number).refusal(before):
            raise RuntimeError(f"{where} {why} (docs/pki.md)")

        def fault(record: Mapping[str, Any], each: Follower) -> str:
            return not_followed(record, before, self._number, self._known, control_plane=each.control_plane)

        if missing := await self.missing(fault):
            raise RuntimeError(
                f"{where} not every machine has followed {before} ({'; '.join(missing)}). Write {before} back, and "
                f"raise it when `mullion wait` names no machine any more (docs/pki.md)"
            )

    async def exist(self) -> bool:
        """Wait until machines can be asked, and return whether the cluster can have any; true if nobody can say."""
        await self._opened.wait()
        return self._records is None or await self._records.known()

    async def missing(
        self, why: Callable[[Mapping[str, Any], Follower], str], *, control_planes: bool = False
    ) -> list[str]:
        """Return the running machines whose status record has a fault, with the reason.

        why: returns the fault of a record, or an empty text. control_planes: ask these alone.
        """
        records = self._records
        if records is None:
            return ["the program failed before it could ask the machines"]
        if self._simulated:
            return []
        try:
            running, stopped = await records.instances()
        except ProviderError as error:
            return [f"the cloud's API did not say which machines run: {error}"]

        async def fault(each: Follower) -> str:
            if each.address in stopped:
                return f"{each.name}: its instance {stopped[each.address]} does not run; start or replace it"
            if each.address not in running:
                return ""  # it will begin with the plan of its time
            said = why(await records.record(each.identity, running[each.address]), each)
            return f"{each.name}: {said}" if said else ""

        asked = [each for each in self._followers if each.control_plane or not control_planes]
        return [each for each in await asyncio.gather(*map(fault, asked)) if each]


def followers(plan: ClusterPlan) -> list[Follower]:
    """Return the machines of a plan."""
    return [
        Follower(machine.name, str(machine.address), group.identity_of(machine), group.is_control_plane)
        for group in plan.machine_groups
        for machine in group.machines
    ]
