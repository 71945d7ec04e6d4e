"""Facts: values in user-data that are known only after cloud resources exist, and then do not change.

Each machine gets exactly these; none is a secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from components.clouds import CLOUDS
from components.spec.existing import LONGEST_HOST


@dataclass(frozen=True)
class Fact:
    """One fact: its maximum characters, for the size of user-data, and which machines get it."""

    longest: int
    control_plane_only: bool = False
    names_identity: bool = False
    """Whether only clouds whose machines must name their identity have this fact."""
    optional: bool = False
    """Whether only clusters with an option that needs the fact have it."""


_BUCKET_URL = len("https://.s3.ap-southeast-99.amazonaws.com") + 63
"""Maximum characters of a bucket's URL; the bucket's name has at most 63."""

_ROLE_ID = 21
"""Characters of the unique id of an IAM role (AROA and 17 more)."""

FACTS: dict[str, Fact] = {
    "world": Fact(len("sandbox")),
    "cloud": Fact(len("azure")),
    "region": Fact(len("germanywestcentral")),
    "cluster": Fact(26),
    "api_host": Fact(LONGEST_HOST),
    "api_url": Fact(len("https://:65535") + LONGEST_HOST),
    "ca_hash": Fact(len("sha256:") + 64),
    "ca_url": Fact(_BUCKET_URL + len("/ca.crt")),
    "bundle_store": Fact(_BUCKET_URL),
    "status_url": Fact(_BUCKET_URL + len("/status/%3A") + _ROLE_ID),
    "identity": Fact(36, names_identity=True),
    "tenant": Fact(36, optional=True),
    "registry_identity": Fact(36, optional=True),
    "secret_service": Fact(80),
    "join_secret": Fact(80),
    "snapshot_store": Fact(_BUCKET_URL, control_plane_only=True),
    "compute_service": Fact(125, control_plane_only=True),
    "compute_way": Fact(len("proxy"), control_plane_only=True, optional=True),
    "pki_secret": Fact(80, control_plane_only=True),
    "desired_state_secret": Fact(80, control_plane_only=True),
}

LONGEST_BUNDLE_URL = _BUCKET_URL + len("/bundles/") + 15 + 1 + 64 + len(".zip")


def for_role(facts: Mapping[str, str], *, control_plane: bool) -> dict[str, str]:
    """Return the facts of a machine. Raises KeyError if the cloud's wiring lacks one."""
    names_identity = CLOUDS[facts["cloud"]].names_identity
    own = {name: fact for name, fact in FACTS.items() if names_identity or not fact.names_identity}
    own = {name: fact for name, fact in own.items() if name in facts or not fact.optional}
    own = {name: fact for name, fact in own.items() if control_plane or not fact.control_plane_only}
    if missing := sorted(set(own) - set(facts)):
        raise KeyError(f"facts {missing} are missing")
    return {name: facts[name] for name in own}


def longest(*, control_plane: bool) -> dict[str, str]:
    """Return facts at their maximum length."""
    longest_values = {name: "x" * fact.longest for name, fact in FACTS.items()}
    return {
        name: value for name, value in longest_values.items() if control_plane or not FACTS[name].control_plane_only
    }
