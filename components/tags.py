"""Tags: who owns a resource, and which resource of the program it is.

`mullion:urn` is how a resource whose creation was cut off is found again.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from components.spec.models import ClusterSpec

LONGEST = 256
"""Characters of a tag's value on AWS."""


@dataclass(frozen=True)
class Tags:
    """Tags of one cluster."""

    common: Mapping[str, str]
    """On every resource: cluster, owner and expiry where given, then the user's own."""
    ours: Mapping[str, str]
    """Without the user's own, for things that take few tags (an S3 object: 10)."""
    root: pulumi.Input[str]
    """URN of the cluster's component."""

    @classmethod
    def of(cls, cluster: str, spec: ClusterSpec, root: pulumi.Input[str]) -> "Tags":
        """Tags of a cluster with this spec."""
        known = {"mullion:cluster": cluster, "mullion:owner": spec.owner, "mullion:expires": spec.expires}
        ours = {key: value for key, value in known.items() if value is not None}
        return cls({**spec.tags, **ours}, ours, root)

    def on(
        self,
        parent: pulumi.Resource,
        kind: type[pulumi.Resource],
        name: str,
        more: Mapping[str, pulumi.Input[str]] | None = None,
        *,
        few: bool = False,
    ) -> pulumi.Input[Mapping[str, pulumi.Input[str]]]:
        """Tags for a child of `parent`, itself a child of the cluster: of this class, with this logical name.

        more: tags of ours besides, without the prefix. few: without the user's own.
        """
        token: str = kind.pulumi_type  # type: ignore[attr-defined]  # each generated class has it
        types = f"{parent.pulumi_resource_type}${token}"
        rest = {
            **(self.ours if few else self.common),
            "Name": name,
            **{f"mullion:{k}": v for k, v in (more or {}).items()},
        }

        def complete(root: str) -> Mapping[str, pulumi.Input[str]]:
            return {**rest, "mullion:urn": tag_value(descendant(root, types, name))}

        return (
            complete(self.root) if isinstance(self.root, str) else pulumi.Output.from_input(self.root).apply(complete)
        )


def component_urn(component: pulumi.ComponentResource, opts: pulumi.ResourceOptions | None) -> pulumi.Input[str]:
    """URN of a component: plain where it stands at the top, which keeps tags plain too; else an Output.

    The Output depends on nothing: as the component's own `urn` it would make every child with
    tags wait for all children.
    """
    if opts is None or opts.parent is None:
        head = f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}"
        return f"{head}::{component.pulumi_resource_type}::{component.pulumi_resource_name}"

    async def urn() -> str:
        known = await component.urn.future()
        if known is None:
            raise RuntimeError(f"{component.pulumi_resource_name} was registered without a URN")
        return known

    return pulumi.Output(set(), asyncio.ensure_future(urn()), component.urn.is_known())


def descendant(root: str, types: str, name: str) -> str:
    """URN below a component: from its URN, the types on the way (joined by $), and the logical name."""
    head, above, _ = root.rsplit("::", 2)
    return f"{head}::{above}${types}::{name}"


def tag_value(urn: str) -> str:
    """A URN as tags of every AWS service take it: `$` becomes `+`, and a long one ends in its digest."""
    text = urn.replace("$", "+")
    if len(text) <= LONGEST:
        return text
    digest = hashlib.sha256(urn.encode()).hexdigest()
    return f"{text[: LONGEST - 1 - len(digest)]}-{digest}"
