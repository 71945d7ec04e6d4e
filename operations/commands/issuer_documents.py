"""Whether everybody can read the documents of a cluster's issuer, and whether they are those that the program wrote."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpx

from components.spec.pod_identity import DISCOVERY, KEYS

OBJECT = "aws:s3/bucketObjectv2:BucketObjectv2"
SECONDS = 15.0
PAGE = "docs/pod-identity.md"
Get = Callable[[str], str]


def get(url: str) -> str:
    """Return the text at a URL, asked without credentials. Raises httpx.HTTPError if there is none."""
    return httpx.get(url, timeout=SECONDS).raise_for_status().text


def issuer_of(resources: Iterable[Mapping[str, Any]]) -> str:
    """Return the URL of the issuer in a state's resources; empty if the cluster has none."""
    stacks = (each.get("outputs") or {} for each in resources if each["type"] == "pulumi:pulumi:Stack")
    return next((str(each["issuer"]) for each in stacks if each.get("issuer")), "")


def faults(url: str, resources: Iterable[Mapping[str, Any]], ask: Get = get) -> list[str]:
    """Return what is wrong with the documents at the issuer's URL, with the fix. resources: of the state."""
    written = {
        each["inputs"]["key"]: each["inputs"].get("content")
        for each in resources
        if each["type"] == OBJECT and each["inputs"].get("key") in (DISCOVERY, KEYS)
    }
    return [fault for key in (DISCOVERY, KEYS) if (fault := _fault(f"{url}/{key}", written.get(key), ask))]


def _fault(url: str, wanted: str | None, ask: Get) -> str:
    try:
        found = json.loads(ask(url))
    except httpx.HTTPError as error:
        return (
            f"{url}: not readable without credentials ({error}), so AWS refuses every token; look for a public access"
            f" block of the account or the organisation, and run `up --refresh` ({PAGE})"
        )
    except ValueError:
        return f"{url}: it is no JSON; somebody has overwritten it: run `up --refresh`, and look who wrote it"
    if wanted is not None and found != json.loads(wanted):
        return f"{url}: it is not what `up` wrote; run `up --refresh`, and look in the audit log who wrote it"
    return ""
