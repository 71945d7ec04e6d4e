"""APIs that clients use and the new version no longer serves, by the API server's own metric."""

import re
from collections.abc import Iterator

from components.releases.order import minor, older
from operations.verification.upgrading.findings import Api, Finding

METRIC = re.compile(r"^apiserver_requested_deprecated_apis\{(.*)\} (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def findings(api: Api, wanted: str) -> Iterator[Finding]:
    """Yield a finding for each API that was used since the API server started and that the new version removes.

    Only one API server answers, and it forgets at a restart. An API that a later version removes is no finding.
    """
    for labels, value in METRIC.findall(api.text("/metrics")):
        named = dict[str, str](LABEL.findall(labels))
        removed = named.get("removed_release", "")
        if not removed or float(value) == 0 or older(minor(wanted), removed):
            continue
        version = "/".join(filter(None, (named.get("group"), named.get("version"))))
        resource = "/".join(filter(None, (named.get("resource"), named.get("subresource"))))
        says = f"clients use it, and Kubernetes {removed} removes it"
        fix = "find them by the audit annotation k8s.io/deprecated, and move them to a newer version of the API"
        yield Finding("deprecated-apis", f"{resource} of {version}", says, fix)
