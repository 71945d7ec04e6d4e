"""Tags: who owns a resource, and which resource of the program it is.

`mullion:urn` is how a resource whose creation was cut off is found again.
"""

import asyncio
import hashlib
import re
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
        rest = {
            **(self.ours if few else self.common),
            "Name": name,
            **{f"mullion:{k}": v for k, v in (more or {}).items()},
        }

        def complete(urn: str) -> Mapping[str, pulumi.Input[str]]:
            return {**rest, "mullion:urn": tag_value(urn)}

        urn = self._urn(parent, kind, name)
        return complete(urn) if isinstance(urn, str) else urn.apply(complete)

    def labels(
        self,
        parent: pulumi.Resource,
        kind: type[pulumi.Resource],
        name: str,
        more: Mapping[str, pulumi.Input[str]] | None = None,
    ) -> pulumi.Output[dict[str, str]]:
        """The same as labels of GCP, which are shorter: without the name, and with a digest in the URN's place."""
        rest = {**self.common, **{f"mullion:{k}": v for k, v in (more or {}).items()}}
        return pulumi.Output.all(rest, self._urn(parent, kind, name)).apply(
            lambda known: {**dict(map(label, known[0].items())), "mullion_urn": urn_digest(known[1])}
        )

    def _urn(self, parent: pulumi.Resource, kind: type[pulumi.Resource], name: str) -> str | pulumi.Output[str]:
        """URN of a child of `parent`, itself a child of the cluster."""
        token: str = kind.pulumi_type  # type: ignore[attr-defined]  # each generated class has it
        types = f"{parent.pulumi_resource_type}${token}"
        if isinstance(self.root, str):
            return descendant(self.root, types, name)
        return pulumi.Output.from_input(self.root).apply(lambda root: descendant(root, types, name))


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


_NOT_IN_LABELS = re.compile(r"[^a-z0-9_-]")
"""Labels of GCP: lower-case letters, digits, hyphens and underscores ("Requirements for labels")."""

LONGEST_LABEL = 63


def label(tag: tuple[str, str]) -> tuple[str, str]:
    """A tag as a label; a check sees to it that the user's own lose nothing by that."""
    key, value = (_NOT_IN_LABELS.sub("_", each.lower()) for each in tag)
    return key, value[:LONGEST_LABEL]


def urn_digest(urn: str) -> str:
    """What stands for a URN in a label."""
    return hashlib.sha256(urn.encode()).hexdigest()[:40]
