"""docs/permissions.md: which permissions a cloud asks for, by what, and with which options."""

from collections.abc import Iterator

from tools.permissions import aws
from tools.permissions.recorded import Recorded, options, recorded

CLOUDS = {"aws": "AWS", "azure": "Azure", "gcp": "GCP"}
HEADER = """# Permissions

What the identity that runs Mullion may do in an account, and why. The [policies to paste](#policies) are made from the
tables. Tests compare both with the resources that the stacks of this repository, and stacks with further options,
register in the sandbox. The tables come from the code of the providers and the documentation of the clouds; no cloud
has judged them yet. If one refuses an action, its message names it: the action's row shows what needed it.

Permissions of machines are on the pages of [AWS](aws.md#cluster), [Azure](azure.md#cluster) and [GCP](gcp.md#cluster).

## Policies

| file | for |
|---|---|
| [aws-read.json](permissions/aws-read.json) | previews and drift on AWS; whoever builds needs it too |
| [aws-network.json](permissions/aws-network.json), [aws-stores.json](permissions/aws-stores.json) | building on AWS |
| [aws-key.json](permissions/aws-key.json) | `encryption_key` on AWS |
| [aws-session.json](permissions/aws-session.json) | `access: session` on AWS |
| [aws-pods.json](permissions/aws-pods.json) | `pod_identity` on AWS: name the policies that pods may get |
| [aws-images.json](permissions/aws-images.json) | [`mullion image bake`](images.md), besides those for building |
| [azure.json](permissions/azure.json) | building on Azure, with sessions |
| [azure-read.json](permissions/azure-read.json) | previews and drift on Azure |
| [gcp.yaml](permissions/gcp.yaml) | building on GCP |
| [gcp-read.yaml](permissions/gcp-read.yaml) | previews and drift on GCP |
| [gcp-session.yaml](permissions/gcp-session.yaml) | `access: session` on GCP |

The commands that create them are on the pages of [AWS](aws.md#needs), [Azure](azure.md#needs) and [GCP](gcp.md#needs).
`mullion reap --by-tags` needs [further rights](ci.md#resources-without-a-state).

On AWS, conditions on the tag `mullion:cluster` and the ARNs admit every cluster of the account. Some actions reach
more, because AWS knows no tag condition for them, or because controllers make the resource without Mullion's tags:
records of every hosted zone (Route 53), rules of every security group, routes of every route table, the deletion of
every load balancer, and every bucket, secret and role whose name matches. Whoever may create a role and write its
policies can also give a role of such a name all rights, and start a machine with it: this identity can become
administrator of the account. A permissions boundary would prevent that, but no option sets one on roles of clusters.
Use an account that has clusters alone.

To admit one cluster alone, write its name instead of `*` in these conditions, and instead of the `*` before
`-bundles-`, `-snapshots-`, `-control-plane-` and the other names. In GovCloud, ARNs begin with `arn:aws-us-gov:`.
"""


def render() -> str:
    """Return the page."""
    return "\n".join([HEADER, *(line for cloud in CLOUDS for line in _cloud(cloud))])


def _cloud(cloud: str) -> Iterator[str]:
    found = recorded(cloud)
    yield f"## {CLOUDS[cloud]}\n"
    yield "| permission | needed by | only with |\n|---|---|---|"
    for permission in sorted(found.permissions):
        yield f"| `{permission}` | {_needed(found, permission)} | {', '.join(options(found, permission))} |"
    yield ""
    if cloud == "aws":
        yield "Patterns in the policies, instead of single actions:\n"
        yield from (f"- `{pattern}`: {reason}" for pattern, reason in aws.WIDENED.items())
        yield ""
    yield "Asked for without a request of that name:\n"
    reasons: dict[str, list[str]] = {}
    for permission, reason in found.table.without_call.items():
        reasons.setdefault(reason, []).append(permission)
    for reason, permissions in reasons.items():
        yield f"- {', '.join(f'`{each}`' for each in permissions)}: {reason}"
    yield ""


def _needed(found: Recorded, permission: str) -> str:
    """Return types, functions and commands, each with its operations."""
    operations: dict[str, list[str]] = {}
    for use in sorted(found.cases, key=lambda use: (use.of, use.operation)):
        if use.permission == permission:
            name = use.of if " " in use.of else use.of.rpartition(":")[2]
            if use.operation not in (known := operations.setdefault(name, [])):
                known.append(use.operation)
    return "; ".join(f"{name} ({', '.join(each)})" for name, each in operations.items())
