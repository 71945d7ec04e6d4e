"""Mirrors of registries: containerd's hosts.toml, one for each registry (its docs/hosts.md)."""

from typing import Any

from components.node.kinds import Step, step
from components.node.layout import LAYOUTS
from components.node.role import Role
from components.node.toml import toml

EVERY = "*"
"""In the spec: before every registry; containerd calls that folder _default."""


def folder(role: Role) -> str:
    """containerd's config_path."""
    layout = LAYOUTS[role.system]
    return layout.path(layout.containerd_config.rpartition(layout.separator)[0], "certs.d")


def steps(role: Role) -> tuple[Step, ...]:
    """A file for each registry. containerd reads them at each pull."""
    separator = LAYOUTS[role.system].separator
    return tuple(
        step(
            "file",
            f"mirrors-{registry}",
            path=separator.join([folder(role), _place(registry, role), "hosts.toml"]),
            content=toml(hosts(registry, urls)),
        )
        for registry, urls in role.containerd.mirrors.items()
    )


def hosts(registry: str, urls: list[str]) -> dict[str, Any]:
    """hosts.toml as nested tables: mirrors in their order, then the registry itself."""
    server = {} if registry == EVERY else {"server": f"https://{_SERVERS.get(registry, registry)}"}
    return {**server, "host": {each: {"capabilities": ["pull", "resolve"]} for each in urls}}


_SERVERS = {"docker.io": "registry-1.docker.io"}
"""Registries that answer under another name than images have."""


def _place(registry: str, role: Role) -> str:
    # Windows has no colons in names; containerd leaves them out there (core/remotes/docker/config/config_windows.go)
    named = registry.replace(":", "") if role.os.is_windows else registry
    return "_default" if registry == EVERY else named
