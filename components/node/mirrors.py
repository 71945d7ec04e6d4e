"""Registry mirrors: one hosts.toml for each registry (containerd docs/hosts.md)."""

from typing import Any

from components.node.kinds import Step, step
from components.node.layout import LAYOUTS
from components.node.role import Role
from components.node.toml import toml

EVERY = "*"
"""Key in the spec for all registries; containerd reads the folder _default for it."""


def folder(role: Role) -> str:
    """Return containerd's config_path."""
    layout = LAYOUTS[role.system]
    return layout.path(layout.containerd_config.rpartition(layout.separator)[0], "certs.d")


def steps(role: Role) -> tuple[Step, ...]:
    """Return one file step for each registry; containerd reads the files at each pull."""
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
    """Return hosts.toml as nested tables: the mirrors in order, then the registry itself."""
    server = {} if registry == EVERY else {"server": f"https://{_SERVERS.get(registry, registry)}"}
    return {**server, "host": {each: {"capabilities": ["pull", "resolve"]} for each in urls}}


_SERVERS = {"docker.io": "registry-1.docker.io"}
"""Hosts of registries whose name differs from the one in image names."""


def _place(registry: str, role: Role) -> str:
    # file names on Windows have no colon, so containerd omits it (core/remotes/docker/config/config_windows.go)
    name = registry.replace(":", "") if role.os.is_windows else registry
    return "_default" if registry == EVERY else name
