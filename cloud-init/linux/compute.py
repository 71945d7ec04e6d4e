"""What the cloud's compute service says of machines, asked with this machine's identity: the control plane's alone."""

import re
from urllib.parse import urlencode

from failure import Failure
from run import Run

VERSION = "2016-11-15"
STATE = re.compile(r"<instanceState>.*?<name>([a-z-]+)</name>", re.DOTALL)
ENDED = "terminated"
"""The only state that no machine comes back from: a stopped one may start again, with its disk."""


def gone(run: Run, instance: str) -> bool:
    """The cloud has ended the machine for good, or has forgotten it. Failure store-failed when that is not to be told.

    A service that was asked for a machine made a moment ago may not know it yet: who acts on this asks more than once.
    """
    url = run.value("facts.compute_service")
    # by filter: a machine that is forgotten gives an empty answer, an id in its place an error
    asked = {"Action": "DescribeInstances", "Version": VERSION}
    asked |= {"Filter.1.Name": "instance-id", "Filter.1.Value.1": instance}
    kind = "application/x-www-form-urlencoded"
    try:
        said = run.ask("ec2", url, "POST", urlencode(asked).encode(), content_type=kind).decode()
    except (OSError, ValueError) as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
    if "</DescribeInstancesResponse>" not in said:
        raise Failure("store-failed", f"{url} says no more of {instance} than: {said[:200]}")
    return set(STATE.findall(said)) <= {ENDED}
