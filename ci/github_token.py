"""Write GitHub's OIDC token of this job to a file, so the Azure SDK of a state in azblob:// can sign in again.

A token is valid for minutes, and the SDK reads AZURE_FEDERATED_TOKEN_FILE again whenever it needs an access token. With
`renew` as argument the program keeps the file fresh until the job has ended, and signs `az` in with each second token:
`az` keeps the token of its sign-in, and asks with it for new access tokens (Azure/azure-cli#28708). Without it, it
writes the file once.
Environment: AZURE_FEDERATED_TOKEN_FILE; of a job that may write id-token: ACTIONS_ID_TOKEN_REQUEST_URL,
ACTIONS_ID_TOKEN_REQUEST_TOKEN; for `az`: AZURE_CLIENT_ID, AZURE_TENANT_ID, ARM_SUBSCRIPTION_ID; optional: PERIOD (120,
seconds). Standard library only.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

AUDIENCE = "api://AzureADTokenExchange"
"""The audience that Microsoft Entra ID expects of a federated credential (its default)."""
PERIOD_SECONDS = 120.0
"""Seconds between two tokens. A token is valid for five minutes (GitHub, "OpenID Connect reference")."""
SIGN_IN_EACH = 2
"""`az` is signed in with each token of this number, before the one of its last sign-in ends."""
AZ_SECONDS = 90
"""Longest sign-in of `az`."""
LIFE_SECONDS = 6 * 3600.0
"""Longest life: that of a job on a hosted runner, which ends its processes earlier."""


def token() -> str:
    """Ask GitHub for a token of this job. Raises OSError, ValueError or KeyError."""
    url = f"{os.environ['ACTIONS_ID_TOKEN_REQUEST_URL']}&audience={urllib.parse.quote(AUDIENCE, safe='')}"
    headers = {"Authorization": f"Bearer {os.environ['ACTIONS_ID_TOKEN_REQUEST_TOKEN']}"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the runner names the address
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 # nosec B310
        return str(json.load(answer)["value"])


def write(path: Path) -> None:
    """Write a new token to a file of mode 600, in one step, because an engine may be reading it."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(token())
    new.replace(path)


def sign_in(path: Path) -> None:
    """Sign `az` in with the token in a file, if it is installed. Raises OSError or ValueError if it fails.

    `az` reads an argument that begins with @ from the file, so the token is in no list of processes.
    """
    if not (program := shutil.which("az")):
        return
    identity = ("--username", os.environ["AZURE_CLIENT_ID"], "--tenant", os.environ["AZURE_TENANT_ID"])
    for words in (
        ("login", "--service-principal", *identity, "--federated-token", f"@{path}"),
        ("account", "set", "--subscription", os.environ["ARM_SUBSCRIPTION_ID"]),
    ):
        command = [program, *words, "--output", "none", "--only-show-errors"]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=AZ_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ValueError(f"az {words[0]} took more than {AZ_SECONDS} s") from None
        if done.returncode:  # its message may quote the token
            raise ValueError(f"az {words[0]} ended with {done.returncode}")


def main() -> None:
    """Write the file; with the argument `renew` go on until the job ends."""
    path = Path(os.environ["AZURE_FEDERATED_TOKEN_FILE"])
    if sys.argv[1:] != ["renew"]:
        write(path)
        return
    end, count = time.monotonic() + LIFE_SECONDS, 0
    while time.monotonic() < end:
        time.sleep(float(os.environ.get("PERIOD", PERIOD_SECONDS)))
        count += 1
        try:
            write(path)
            if count % SIGN_IN_EACH == 0:
                sign_in(path)
        except (OSError, ValueError, KeyError) as error:  # the next try may succeed while the last token is valid
            print(f"no new token: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
