"""Tags: the cluster and owner of a resource, and its URN.

`mullion up` finds a resource whose creation was interrupted by its tag `mullion:urn`.
"""

import asyncio
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from components.spec.models import ClusterSpec

LONGEST = 256
"""Maximum characters of a tag's value on AWS."""


@dataclass(frozen=True)
class Tags:
    """Tags of one cluster."""

    common: Mapping[str, str]
    """Tags of every resource: cluster, owner, expiry date, protection, and the user's tags."""
    ours: Mapping[str, str]
    """The same without the user's tags, for resources that take few tags (an S3 object: 10)."""
    root: pulumi.Input[str]
    """URN of the cluster's component."""

    @classmethod
    def of(cls, cluster: str, spec: ClusterSpec, root: pulumi.Input[str]) -> "Tags":
        """Return the tags of a cluster with this spec."""
        fixed = {
            "mullion:cluster": cluster,
            "mullion:owner": spec.owner,
            "mullion:expires": spec.expires,
            "mullion:protect": "true" if spec.protect else None,
        }
        ours = {key: value for key, value in fixed.items() if value is not None}
        return cls({**spec.tags, **ours}, ours, root)

    def on(
        self,
        parent: pulumi.Resource,
        kind: type[pulumi.Resource],
        name: str,
        more: Mapping[str, pulumi.Input[str]] | None = None,
        *,
        few: bool = False,
        separator: str = ":",
        others: Mapping[str, str] | None = None,
    ) -> pulumi.Input[Mapping[str, pulumi.Input[str]]]:
        """Return the tags of a resource with this class and logical name. parent: the cluster or a child of it.

        more: additional tags, without the prefix `mullion:`. few: without the user's tags.
        separator: character between `mullion` and the rest of a key. others: tags whose keys stay as they are.
        """
        rest = {
            **(self.ours if few else self.common),
            "Name": name,
            **{f"mullion:{k}": v for k, v in (more or {}).items()},
        }

        def complete(urn: str) -> Mapping[str, pulumi.Input[str]]:
            ours = {**rest, "mullion:urn": tag_value(urn)}
            return {**{key.replace(":", separator): value for key, value in ours.items()}, **(others or {})}

        urn = self._urn(parent, kind, name)
        return complete(urn) if isinstance(urn, str) else urn.apply(complete)

    def labels(
        self,
        parent: pulumi.Resource,
        kind: type[pulumi.Resource],
        name: str,
        more: Mapping[str, pulumi.Input[str]] | None = None,
    ) -> pulumi.Output[dict[str, str]]:
        """Return the same as labels for GCP, which are shorter: without the name, with a digest instead of the URN."""
        rest = {**self.common, **{f"mullion:{k}": v for k, v in (more or {}).items()}}
        return pulumi.Output.all(rest, self._urn(parent, kind, name)).apply(
            lambda values: {**dict(map(label, values[0].items())), "mullion_urn": urn_digest(values[1])}
        )

    def _urn(self, parent: pulumi.Resource, kind: type[pulumi.Resource], name: str) -> str | pulumi.Output[str]:
        """Return the URN of a child of `parent`, which is the cluster or a child of it."""
        token = str(kind.pulumi_type)  # type: ignore[attr-defined]  # each generated class has it
        above = str(parent.pulumi_resource_type)

        def urn(root: str) -> str:
            # no child of a cluster has its type
            return descendant(root, token if _type(root) == above else f"{above}${token}", name)

        return urn(self.root) if isinstance(self.root, str) else pulumi.Output.from_input(self.root).apply(urn)


def component_urn(component: pulumi.ComponentResource, opts: pulumi.ResourceOptions | None) -> pulumi.Input[str]:
    """Return the URN of a component: a string if it has no parent, which keeps tags strings too; else an Output.

    The Output has no dependencies: with the component's own `urn`, every tagged child would wait for all children.
    """
    if opts is None or opts.parent is None:
        head = f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}"
        return f"{head}::{component.pulumi_resource_type}::{component.pulumi_resource_name}"

    async def urn() -> str:
        value = await component.urn.future()
        if value is None:
            raise RuntimeError(f"{component.pulumi_resource_name} was registered without a URN")
        return value

    return pulumi.Output(set(), asyncio.ensure_future(urn()), component.urn.is_known())


def _type(urn: str) -> str:
    """Return the type of a URN's resource."""
    return urn.rsplit("::", 2)[1].rpartition("$")[2]


def descendant(root: str, types: str, name: str) -> str:
    """Return the URN of a descendant from a component's URN, the types between (joined by $) and a logical name."""
    head, above, _ = root.rsplit("::", 2)
    return f"{head}::{above}${types}::{name}"


def tag_value(urn: str) -> str:
    """Return a URN as a valid tag value of every AWS service: `$` becomes `+`, and a long one ends in its digest."""
    text = urn.replace("$", "+")
    if len(text) <= LONGEST:
        return text
    digest = hashlib.sha256(urn.encode()).hexdigest()
    return f"{text[: LONGEST - 1 - len(digest)]}-{digest}"


_NOT_IN_LABELS = re.compile(r"[^a-z0-9_-]")
"""Labels of GCP: lower-case letters, digits, hyphens and underscores ("Requirements for labels")."""

LONGEST_LABEL = 63


def label(tag: tuple[str, str]) -> tuple[str, str]:
    """Return a tag as a label. A check refuses tags of the user that would change."""
    key, value = (_NOT_IN_LABELS.sub("_", each.lower()) for each in tag)
    return key, value[:LONGEST_LABEL]


def urn_digest(urn: str) -> str:
    """Return the label value for a URN: 40 digits of its sha256."""
    return hashlib.sha256(urn.encode()).hexdigest()[:40]
