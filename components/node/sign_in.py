"""Sign-in of people through an OpenID Connect provider: flags of the API server, and roles of groups."""

from typing import Any

from components.node.role import Role

_RBAC = "rbac.authorization.k8s.io"


def arguments(role: Role) -> dict[str, str]:
    """Return the API server's flags for tokens of the provider."""
    oidc = role.spec.api.oidc
    if oidc is None:
        return {}
    required = ",".join(f"{claim}={value}" for claim, value in sorted(oidc.required_claims.items()))
    return {
        "oidc-client-id": oidc.client,
        "oidc-groups-claim": oidc.groups_claim,
        "oidc-groups-prefix": oidc.prefix,
        "oidc-issuer-url": oidc.issuer,
        "oidc-username-claim": oidc.username_claim,
        "oidc-username-prefix": oidc.prefix,
        **({"oidc-required-claim": required} if required else {}),
    }


def bindings(role: Role) -> list[dict[str, Any]]:
    """Return the cluster role bindings of the provider's groups."""
    oidc = role.spec.api.oidc
    if oidc is None:
        return []
    groups = {"cluster-admin": oidc.admins, "edit": oidc.editors, "view": oidc.viewers}
    return [_binding(name, [oidc.prefix + group for group in members]) for name, members in groups.items() if members]


def _binding(role_name: str, groups: list[str]) -> dict[str, Any]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"mullion:sign-in:{role_name}"},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role_name},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": group} for group in groups],
    }
