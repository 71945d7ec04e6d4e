"""Files of the engine's backends of files, where its own commands do too much: folders here, buckets by the clouds'
command lines.

`pulumi stack ls` reads every state, and fails as a whole if it cannot read one; the names of the stacks are also those
of the files below `.pulumi/stacks/PROJECT/`. `pulumi cancel` deletes all locks of a stack; each is a file of its own.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import yaml

from operations.clouds import bearer
from operations.console.exits import Exit, Stop
from operations.stacks.paths import REPOSITORY

ENDINGS = (".json", ".json.gz", ".json.zst")
"""Ends of the names of state files, also of compressed ones (pkg/backend/diy/backend.go)."""
Words = Callable[[str, str, Mapping[str, str]], list[str]]
"""Returns a command by bucket, key (or its beginning), and options of the backend's URL."""


@dataclass(frozen=True)
class Bucket:
    """Commands of a cloud for the files in a bucket. listed: prints them as JSON. key: returns the key in an item."""

    listed: Words
    delete: Words
    key: Callable[[Any], str] = str


def stacks(backend: str) -> list[str]:
    """Return the names of the project's stacks in the backend at this URL. Raises Stop if nothing lists its files."""
    url = urlsplit(backend)
    project = yaml.safe_load((REPOSITORY / "Pulumi.yaml").read_text("utf-8"))["name"]
    folder = f".pulumi/stacks/{project}/"
    if url.scheme == "file":
        keys = [each.name for each in (_path(url) / folder).glob("*")]
    elif bucket := BUCKETS.get(url.scheme):
        prefix = f"{unquote(url.path).strip('/')}/{folder}".lstrip("/")
        keys = [bucket.key(each) for each in _printed(bucket.listed(url.netloc, prefix, _options(url))) or []]
    else:
        raise Stop(Exit.FAILED, f"no file of the backend {url.scheme}:// can be listed")
    names = [key.rpartition("/")[2] for key in keys]
    return sorted({name.removesuffix(end) for name in names for end in ENDINGS if name.endswith(end)})


def delete(file: str) -> bool:
    """Delete one file, by its URL. Return whether a command did that; false also if there is no command for it."""
    url = urlsplit(file)
    if url.scheme == "file":
        _path(url).unlink(missing_ok=True)
        return True
    if not (bucket := BUCKETS.get(url.scheme)):
        return False
    words = bucket.delete(url.netloc, unquote(url.path).lstrip("/"), _options(url))
    return bearer.succeeded(words)


def _path(url: SplitResult) -> Path:
    return Path(unquote(url.netloc + url.path)).expanduser()


def _options(url: SplitResult) -> dict[str, str]:
    return dict(parse_qsl(url.query))


def _printed(words: Sequence[str]) -> Any:
    return bearer.printed(tuple(words), f"{words[0]} is not installed, which would list the bucket")


def _aws(action: str, bucket: str, options: Mapping[str, str]) -> list[str]:
    words = ["aws", "s3api", action]
    words += [word for name in ("region", "profile") if name in options for word in (f"--{name}", options[name])]
    if endpoint := options.get("endpoint"):
        scheme = "http" if options.get("disableSSL") == "true" else "https"
        words += ["--endpoint-url", endpoint if "://" in endpoint else f"{scheme}://{endpoint}"]
    return [*words, "--bucket", bucket]


def _az(action: str, container: str, options: Mapping[str, str]) -> list[str]:
    account = options.get("storage_account") or os.environ.get("AZURE_STORAGE_ACCOUNT", "")
    return [
        *("az", "storage", "blob", action, "--auth-mode", "login"),
        *("--account-name", account, "--container-name", container),
    ]


BUCKETS = {
    "s3": Bucket(
        lambda bucket, prefix, options: [
            *_aws("list-objects-v2", bucket, options),
            *("--prefix", prefix, "--query", "Contents[].Key", "--output", "json"),
        ],
        lambda bucket, key, options: [*_aws("delete-object", bucket, options), "--key", key],
    ),
    "azblob": Bucket(
        lambda container, prefix, options: [
            *_az("list", container, options),
            *("--prefix", prefix, "--num-results", "*", "--query", "[].name", "--output", "json"),
        ],
        lambda container, key, options: [*_az("delete", container, options), "--name", key],
    ),
    "gs": Bucket(
        lambda bucket, prefix, _: ["gcloud", "storage", "ls", "--json", f"gs://{bucket}/{prefix}*"],
        lambda bucket, key, _: ["gcloud", "storage", "rm", f"gs://{bucket}/{key}"],
        key=lambda item: item["url"].partition("#")[0],
    ),
}
