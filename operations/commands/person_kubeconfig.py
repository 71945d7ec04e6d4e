"""`mullion kubeconfig --user`: a kubeconfig of one person for some hours, with the rights of a cluster role."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import quote

import yaml

from components.machine import pki
from components.rollout.plain_text import plain
from components.spec.access import PersonRole
from operations.commands import kubeconfig, reached_api
from operations.console.exits import Exit, Stop
from operations.stacks import boot_site, target

if TYPE_CHECKING:
    from components.rollout.kubernetes_api import KubernetesApi

ROLES = get_args(PersonRole)
RESERVED = ("system:", "kubeadm:")
"""Names that begin so are Kubernetes' own (Using RBAC Authorization, Referring to subjects) or kubeadm's, whose group
kubeadm:cluster-admins may do everything.
"""
ROLE = "mullion:role:"
"""Begins the groups that --role gives."""
_GROUP = "rbac.authorization.k8s.io"
BINDINGS = f"/apis/{_GROUP}/v1/clusterrolebindings"


@dataclass(frozen=True)
class Person:
    """Whom a certificate names. role: one of ROLES. public: the person's key (PEM); empty: Mullion makes one."""

    user: str
    role: str
    groups: tuple[str, ...] = ()
    hours: int = 1
    public: str = ""


def person(user: str, role: str | None, groups: Sequence[str], hours: int, key_file: Path | None) -> Person:
    """Return a person from options. Raises Stop for a name that Kubernetes keeps for itself, and a wrong key."""
    if role is None or role not in ROLES:
        raise Stop(Exit.USAGE, f"--role: write one of {', '.join(ROLES)}; {plain(role or 'nothing')} is none of them")
    for option, text in (("--user", user), *(("--group", each) for each in groups)):
        if not text or text.startswith((*RESERVED, ROLE)) or text == pki.ADMINISTRATOR or not text.isprintable():
            raise Stop(
                Exit.USAGE,
                f"{option} {plain(text)}: write another name; this one is empty, or Kubernetes or Mullion keeps it",
            )
        if len(text.encode()) > pki.MOST_NAME_BYTES:
            most = pki.MOST_NAME_BYTES
            raise Stop(Exit.USAGE, f"{option} {plain(text)}: a certificate takes at most {most} bytes in UTF-8")
    return Person(user, role, tuple(groups), hours, _public(key_file) if key_file else "")


def _public(file: Path) -> str:
    try:
        text = file.read_text("utf-8")
        pki.public_key(text)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Stop(
            Exit.USAGE, f"--public-key {file}: {why}; make one: openssl ecparam -name prime256v1 -genkey"
        ) from None
    return text


def write(name: str, who: Person, output: str | None) -> None:
    """Bind the person's role in the cluster unless it is bound, and write the kubeconfig. Raises Stop.

    Without a file it is written to standard output. In a sandbox that is not booted nothing can be bound.
    """
    kubeconfig.refuse_output(output)
    with kubeconfig.built(name) as run:
        administrator = kubeconfig.current(name, kubeconfig.stored(name, run), run)
        bundle = kubeconfig.trusted(yaml.safe_load(administrator))
        text = issued(name, administrator, kubeconfig.authority(name, run, bundle), who)
    if not target.in_sandbox(name) or boot_site.api(name):
        with reached_api.reached(name, administrator) as here:
            _bind(name, reached_api.client(here), who.role)
    kubeconfig.put(name, text, output, partial(_kept, who))


def _kept(who: Person, name: str, text: str) -> Path:
    path = target.folder(name) / f"kubeconfig-of-{quote(who.user, safe='')}"
    target.write(path, text)
    return path


def issued(name: str, administrator: str, authority: pki.KeyPair, who: Person) -> str:
    """Return the person's kubeconfig for the server in the administrator's. It has a key only if Mullion made it."""
    made = None if who.public else pki.person_key()
    public = made["public"] if made else who.public
    groups = (group(who.role), *who.groups)
    certificate = pki.person_certificate(authority, public, who.user, groups, name, timedelta(hours=who.hours))
    server: dict[str, Any] = yaml.safe_load(administrator)["clusters"][0]["cluster"]
    pair: pki.KeyPair = {"certificate": certificate, "key": made["private"] if made else ""}
    bundle = kubeconfig.trusted(yaml.safe_load(administrator))
    return pki.kubeconfig(name, f"{name}-{who.user}", server["server"], server["tls-server-name"], bundle, pair)


def group(role: str) -> str:
    """Return the group of all people with a role, which is also the name of its binding."""
    return f"{ROLE}{role}"


def binding(role: str) -> dict[str, Any]:
    """Return the object that gives a role's group its rights in the whole cluster."""
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": group(role)},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": _GROUP, "kind": "Group", "name": group(role)}],
    }


def _bind(name: str, api: "KubernetesApi", role: str) -> None:
    from components.rollout.kubernetes_api import Refused, Unreachable

    try:
        bind(api, role)
    except (Refused, Unreachable) as error:
        raise Stop(
            Exit.FAILED,
            f"the API of {name} failed: {error}; no kubeconfig was written, because its user would have no rights",
        ) from error


def bind(api: "KubernetesApi", role: str) -> None:
    """Create the binding of a role. One that exists stays as it is: an administrator may have emptied its subjects."""
    from components.rollout.kubernetes_api import Refused

    try:
        api.ask("POST", BINDINGS, binding(role))
    except Refused as refused:
        if refused.status != 409:
            raise
