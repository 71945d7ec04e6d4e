"""`mullion outputs` and `mullion kubeconfig`: the outputs of a stack's state."""

import base64
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from pulumi import automation as auto

from components.machine import pki
from components.spec.authorities import of_generation
from components.spec.models import Oidc
from operations.commands import joined, report
from operations.console.exits import Exit, Stop
from operations.engine import failures, locate, state
from operations.engine.workspace import existing, has_backend, opened
from operations.stacks import boot_site, stack_files, target

STALE = timedelta(days=5)
"""A certificate that expires sooner is replaced."""


def outputs(name: str, *, as_json: bool) -> None:
    """Print a stack's outputs; secrets as [secret]."""
    with built(name) as run:
        values = {key: "[secret]" if value.secret else value.value for key, value in run.outputs().items()}
    if as_json:
        print(json.dumps(values, indent=2))
        return
    lines: list[str] = []
    for key, value in sorted(values.items()):
        text = value if isinstance(value, str) else json.dumps(value)
        lines.append(f"{key}: {text.strip()}" if "\n" not in text.strip() else f"{key}:\n{text.strip()}")
    print("\n".join(lines))


def kubeconfig(name: str, output: str | None, *, oidc: bool = False) -> None:
    """Write the administrator's kubeconfig, with a new certificate if the stored one expires within 5 days.

    oidc: write one for users who sign in through the stack's OpenID Connect provider instead; it has no secrets.
    """
    provider = _provider(name) if oidc else None
    refuse_output(output)
    with built(name) as run:
        kept = stored(name, run)
        text = current(name, kept, run) if provider is None else sign_in(name, kept, provider)
    put(name, text, output, report.kubeconfig if provider is None else report.sign_in_kubeconfig)


def refuse_output(output: str | None) -> None:
    """Raise Stop if no file can be written at the place that -o names."""
    if output is not None and Path(output).is_dir():
        raise Stop(Exit.USAGE, f"-o {output or '.'} is a folder; name a file in it, or - for standard output")
    if output not in (None, "-") and not os.path.isdir(os.path.dirname(output) or "."):  # noqa: PTH112, PTH120 - False for a loop of links
        raise Stop(
            Exit.USAGE, f"-o {output}: there is no folder {Path(output).parent}; create it, or name a file in another"
        )


def stored(name: str, run: auto.Stack) -> str:
    """Return the administrator's kubeconfig in the state. Raises Stop if there is none yet."""
    found = run.outputs().get("kubeconfig")
    if found is None:
        raise Stop(Exit.FAILED, f"stack {name} has no kubeconfig yet; `{target.command('up', name)}` creates it")
    return found.value


def put(name: str, text: str, output: str | None, default: Callable[[str, str], Path]) -> None:
    """Write a kubeconfig to FILE of -o, to standard output, or to the default place; say where, and if nothing answers
    at its server.
    """
    if target.in_sandbox(name) and not boot_site.api(name):
        print(f"mullion: nothing answers at its server yet: {boot_site.not_booted(name)}", file=sys.stderr)
    if output == "-" or (output is None and not sys.stdout.isatty()):
        print(text, end="")
        return
    path = default(name, text) if output is None else Path(output)
    if output is not None and not written(path, text):
        return
    print(f"kubeconfig of {name}: {path}\n  export KUBECONFIG={os.path.abspath(path)}")  # noqa: PTH100 - keeps a link


def _provider(name: str) -> Oidc:
    """Return the provider of the stack. Raises Stop if the stack file names none."""
    provider = stack_files.load(name).spec.api.oidc
    if provider is None:
        raise Stop(
            Exit.REFUSED,
            f"{stack_files.file(name)}: mullion:cluster.api.oidc is not set, so nobody can sign in;"
            f" set issuer and client, and run: {target.command('up', name)}",
        )
    return provider


def sign_in(name: str, kept: str, provider: Oidc) -> str:
    """Return a kubeconfig whose user gets a token from the provider with the kubectl plugin oidc-login."""
    document = yaml.safe_load(kept)
    command = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "interactiveMode": "IfAvailable",
        "command": "kubectl",
        "args": [
            *("oidc-login", "get-token"),
            f"--oidc-issuer-url={provider.issuer}",
            f"--oidc-client-id={provider.client}",
        ],
        "installHint": "install the kubectl plugin oidc-login: kubectl krew install oidc-login",
    }
    document["users"][0]["user"] = {"exec": command}
    return boot_site.reached(name, yaml.safe_dump(document, sort_keys=False))


def written(path: Path, text: str) -> bool:
    """Write the file with mode 0600. Return False for a pipe or device, which is written to but not replaced."""
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, "utf-8")
            return False
        target.write(path.resolve(), text)  # keeps a symbolic link and replaces its target
        return True
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links, before Python 3.13
        raise Stop(Exit.USAGE, f"-o {path}: {error}; name a file that can be written") from error


def administrator(name: str) -> str:
    """Return the administrator's kubeconfig of a stack. Raises Stop if the stack's sandbox is not booted."""
    boot_site.refuse_unbooted(name)
    with built(name) as run:
        return current(name, stored(name, run), run)


def current(name: str, kept: str, run: auto.Stack) -> str:
    """Return the stored kubeconfig; with a new certificate if the stored one expires within 5 days.

    kept: the stored one; empty if the cluster is somebody else's; then return the user's own. Raises Stop if it cannot
    be used.
    """
    if not kept:
        return joined.kubeconfig(name)
    document = yaml.safe_load(kept)
    user = document["users"][0]["user"]
    ends = pki.not_after(base64.b64decode(user["client-certificate-data"]).decode())
    if ends - datetime.now(timezone.utc) > STALE:
        return boot_site.reached(name, kept)
    pair = pki.administrator_certificate(authority(name, run, trusted(document)), name)
    user["client-certificate-data"] = base64.b64encode(pair["certificate"].encode()).decode()
    user["client-key-data"] = base64.b64encode(pair["key"].encode()).decode()
    print(f"mullion: the stored certificate expires on {ends:%Y-%m-%d}; issued a new one", file=sys.stderr)
    return boot_site.reached(name, yaml.safe_dump(document, sort_keys=False))


def authorities(text: str) -> tuple[str, ...]:
    """Return the SHA-256 (hex) of each certificate that a kubeconfig trusts, as machines report them."""
    found = x509.load_pem_x509_certificates(trusted(yaml.safe_load(text)).encode())
    return tuple(each.fingerprint(hashes.SHA256()).hex() for each in found)


def trusted(document: Any) -> str:
    """Return the certificates (PEM) that a kubeconfig trusts."""
    return base64.b64decode(document["clusters"][0]["cluster"]["certificate-authority-data"]).decode()


def authority(name: str, run: auto.Stack, bundle: str) -> pki.KeyPair:
    """Return the signing cluster CA from the state: the first one of the trusted certificates (PEM).

    The engine decrypts it into this process's memory, never to disk.
    """
    resources, generation = state.resources_of(run.workspace.export_stack(name)), 0
    while pair := state.stashed(name, resources, of_generation("cluster-ca", generation)):
        if bundle.startswith(pair["certificate"]):
            return {"certificate": pair["certificate"], "key": pair["key"]}
        generation += 1
    raise Stop(
        Exit.FAILED,
        f"the state of {name} has no cluster CA; `{target.command('up', name)}` continues the interrupted run",
    )


def refuse_unbuilt(name: str) -> None:
    """Raise Stop with 2 if this clone did not build the stack and no backend is set that could have its state."""
    if target.recall(name) is None and not has_backend():
        raise Stop(Exit.USAGE, _not_built(name))


def _not_built(name: str) -> str:
    return f"stack {name} is not built; `{target.command('up', name)}` builds it"


@contextmanager
def built(name: str) -> Iterator[auto.Stack]:
    """Yield a built stack, in the sandbox or its account. Raises Stop with 2 if it is not built."""
    stack_files.file(name)
    program = locate.find()
    refuse_unbuilt(name)
    with opened(name, program, sandbox=target.in_sandbox(name)) as workspace, failures.reported(name):
        run = existing(name, workspace)
        if run is None:
            raise Stop(Exit.USAGE, _not_built(name))
        yield run
