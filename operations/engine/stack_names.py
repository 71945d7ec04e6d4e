"""Names of the stacks in a backend of files, without reading their states.

The engine's `stack ls` reads every state, and fails as a whole if it cannot read one. The names are also those of the
files below `.pulumi/stacks/PROJECT/`: of a folder, or of a bucket, which the cloud's command line lists.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import yaml

from operations.clouds import bearer
from operations.console.exits import Exit, Stop
from operations.stacks.paths import REPOSITORY

ENDINGS = (".json", ".json.gz", ".json.zst")
"""Ends of the names of state files, also of compressed ones (pkg/backend/diy/backend.go)."""


def of_files(backend: str) -> list[str]:
    """Return the names of the project's stacks in the backend at this URL. Raises Stop if nothing lists its files."""
    url = urlsplit(backend)
    options = dict(parse_qsl(url.query))
    project = yaml.safe_load((REPOSITORY / "Pulumi.yaml").read_text("utf-8"))["name"]
    folder = f".pulumi/stacks/{project}/"
    if url.scheme == "file":
        keys = [each.name for each in (Path(unquote(url.netloc + url.path)).expanduser() / folder).glob("*")]
    elif url.scheme in BUCKETS:
        prefix = f"{unquote(url.path).strip('/')}/{folder}".lstrip("/")
        keys = BUCKETS[url.scheme](url.netloc, prefix, options)
    else:
        raise Stop(Exit.FAILED, f"no file of the backend {url.scheme}:// can be listed")
    names = [key.rpartition("/")[2] for key in keys]
    return sorted({name.removesuffix(end) for name in names for end in ENDINGS if name.endswith(end)})


def _s3(bucket: str, prefix: str, options: Mapping[str, str]) -> list[str]:
    words = ["aws", "s3api", "list-objects-v2"]
    words += [word for name in ("region", "profile") if name in options for word in (f"--{name}", options[name])]
    if endpoint := options.get("endpoint"):
        scheme = "http" if options.get("disableSSL") == "true" else "https"
        words += ["--endpoint-url", endpoint if "://" in endpoint else f"{scheme}://{endpoint}"]
    words += ["--bucket", bucket, "--prefix", prefix, "--query", "Contents[].Key", "--output", "json"]
    return _printed(words) or []


def _azblob(container: str, prefix: str, options: Mapping[str, str]) -> list[str]:
    account = options.get("storage_account") or os.environ.get("AZURE_STORAGE_ACCOUNT", "")
    words = ["az", "storage", "blob", "list", "--account-name", account, "--container-name", container]
    words += ["--prefix", prefix, "--num-results", "*", "--auth-mode", "login", "--query", "[].name"]
    return _printed([*words, "--output", "json"]) or []


def _gs(bucket: str, prefix: str, options: Mapping[str, str]) -> list[str]:
    found = _printed(["gcloud", "storage", "ls", "--json", f"gs://{bucket}/{prefix}*"])
    return [each["url"].partition("#")[0] for each in found]


def _printed(words: list[str]) -> Any:
    return bearer.printed(tuple(words), f"{words[0]} is not installed, which would list the bucket")


BUCKETS: dict[str, Callable[[str, str, Mapping[str, str]], list[str]]] = {"s3": _s3, "azblob": _azblob, "gs": _gs}
