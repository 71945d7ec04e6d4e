"""Whether everybody can read the documents of a cluster's issuer, and whether they are those that the program wrote."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpx

from components.machine.issuer import md5
from components.spec.pod_identity import DISCOVERY, KEYS

OBJECT, BLOB = "aws:s3/bucketObjectv2:BucketObjectv2", "azure-native:storage:Blob"
CLOSED = {
    OBJECT: "AWS refuses every token; look for a public access block of the account or the organisation",
    BLOB: "Entra ID refuses every token; look for a policy that has closed the issuer's storage account to networks",
}
"""What follows from documents that nobody can read, by type of object."""
SECONDS = 15.0
PAGE = "docs/pod-identity.md"
Get = Callable[[str], str]
Same = Callable[[str], bool]
"""Whether a text is what the program wrote."""


def get(url: str) -> str:
    """Return the text at a URL, asked without credentials. Raises httpx.HTTPError if there is none."""
    return httpx.get(url, timeout=SECONDS).raise_for_status().text


def issuer_of(resources: Iterable[Mapping[str, Any]]) -> str:
    """Return the URL of the issuer in a state's resources; empty if the cluster has none."""
    stacks = (each.get("outputs") or {} for each in resources if each["type"] == "pulumi:pulumi:Stack")
    return next((str(each["issuer"]) for each in stacks if each.get("issuer")), "")


def faults(url: str, resources: Iterable[Mapping[str, Any]], ask: Get = get) -> list[str]:
    """Return what is wrong with the documents at the issuer's URL, with the fix. resources: of the state."""
    objects = [each for each in resources if each["type"] in (OBJECT, BLOB)]
    written = {name: same for each in objects for name, same in _written(each)}
    closed = CLOSED[BLOB if any(each["type"] == BLOB for each in objects) else OBJECT]
    found = (_fault(f"{url}/{key}", written.get(key), closed, ask) for key in (DISCOVERY, KEYS))
    return [fault for fault in found if fault]


def _written(resource: Mapping[str, Any]) -> Iterable[tuple[str, Same]]:
    """Yield name and comparison of an object, if it is a document of an issuer."""
    inputs = resource["inputs"]
    if (name := inputs.get("key")) in (DISCOVERY, KEYS) and isinstance(content := inputs.get("content"), str):
        yield name, lambda text: json.loads(text) == json.loads(content)
    if (name := inputs.get("blobName")) in (DISCOVERY, KEYS) and (digest := inputs.get("contentMd5")):
        yield name, lambda text: md5(text) == digest  # a state has files by their digest alone


def _fault(url: str, same: Same | None, closed: str, ask: Get) -> str:
    try:
        text = ask(url)
        json.loads(text)
    except httpx.HTTPError as error:
        return f"{url}: not readable without credentials ({error}), so {closed}, and run `up --refresh` ({PAGE})"
    except ValueError:
        return (
            f"{url}: it is no JSON; somebody has overwritten it: write it again as {PAGE} says, and look who wrote it"
        )
    if same is not None and not same(text):
        return (
            f"{url}: it is not what `up` wrote; write it again as {PAGE} says, and look in the audit log who wrote it"
        )
    return ""
