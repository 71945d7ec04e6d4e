"""Gate of the step from `issuer: accepted` to `signs`: every control plane must know the public issuer by then.

Control planes report the issuers in their API server's static pod. The state keeps the step as a Stash, and a resource
hook of the engine compares it, in previews too, so plain `pulumi up` has this gate. The secret `pki` waits for the
Stash, and the desired state for the secret: a refused step changes no control plane.
"""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi import Output, ResourceHook, ResourceHookArgs, ResourceHookBinding, ResourceHookOptions, ResourceOptions

from components.rollout.authority_gate import AuthorityGate
from components.spec.choices import TokenIssuer


def not_known(record: Mapping[str, Any], url: str) -> str:
    """Return why a control plane's record does not show that its API server knows an issuer; empty if it does."""
    if record["state"] == "absent":
        return f"it has no status record ({record['message']})"
    reported = record.get("issuers")
    if not isinstance(reported, str):
        return "it has not reported its issuers since `up` with this version of Mullion; wait a few minutes"
    return "" if url and url in reported.split(",") else "its API server does not know the public issuer yet"


class IssuerGate:
    """The gate of one cluster."""

    def __init__(self, cluster: str, step: TokenIssuer, planes: int, machines: AuthorityGate) -> None:
        """step: of the stack file. planes: number of control planes. machines: the gate that asks machines."""
        self._cluster, self._step, self._planes, self._machines = cluster, step, planes, machines
        self._begins, self._url = True, ""
        check = [ResourceHook(f"{cluster}-issuer-step", self._check, ResourceHookOptions(on_dry_run=True))]
        self._hooks = ResourceHookBinding(before_create=check, before_update=check)

    def permitted(self, begins: Output[bool], url: Output[str], parent: pulumi.Resource) -> Output[str]:
        """Return an output that resolves once the gate permits the step; the state keeps it.

        begins: whether this run creates the cluster. url: of the public issuer.
        """

        async def settled() -> str:
            exists = await self._machines.exist()
            self._begins = not exists or await begins.future() is not False
            self._url = await url.future() or ""
            return self._step.value

        options = ResourceOptions(parent=parent, hooks=self._hooks)
        return pulumi.Stash(f"{self._cluster}-issuer", input=Output.from_input(settled()), opts=options).output

    async def _check(self, args: ResourceHookArgs) -> None:
        """Raise RuntimeError if the issuer begins to sign before every control plane knows it."""
        before = (args.old_inputs or {}).get("input")
        signs = TokenIssuer.SIGNS.value
        if self._step.value != signs or before == signs or self._begins or self._planes == 1:
            return
        missing = await self._machines.missing(lambda record, _: not_known(record, self._url), control_planes=True)
        if missing:
            raise RuntimeError(
                "pod_identity.issuer: signs is refused, and no control plane was changed: one that does not know the "
                f"issuer refuses the tokens that another one signs for it ({'; '.join(missing)}). Write issuer: "
                "accepted, run `up`, and remove that line when `mullion wait` ends (docs/pod-identity.md)"
            )
