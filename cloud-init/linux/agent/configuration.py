"""The agent's configuration: /etc/mullion/agent.json, written from the plan (see components/node/agent.py)."""

import json
from pathlib import Path
from typing import Any

PATH = "/etc/mullion/agent.json"
STAMP = "/var/lib/mullion/applied"
"""Digest of the ClusterConfiguration with which this machine's static pods were created."""
TURN = "/var/lib/mullion/turn"
"""JSON, exists during this machine's turn: {"serial", "snapshot": its key or "", "started": whether the executor was
started, "before": start of the executor's previous run}.
"""

Configuration = dict[str, Any]
"""{kubeconfig, founder, digest, token: {secret, kubeconfig, lifetime_hours}, upgrade: {apply, node, last: [argv]},
etcd: {find, etcdctl, quota: bytes or 0, least: oldest version of a member before the upgrade, or ""},
snapshots: {file, every_minutes, keep, days, daily, weekly, copies: URL of their folder, if they are made},
drill: {folder, config, argv, etcd_image if pinned, peer: URL, certificates, etcd: argv, client: argv},
certificates: {files, days, renew,
whole: what kinds/certificates.py completes, once authorities were rotated},
encryption: {secret, member, path, resources},
service_account: {secret, member, private, public}, founding: {store, log, cluster},
pods: {find: {component: argv}, stop, running, started}, reboots: {begin, minutes} if the stack has a window,
authorization: {path: file of the API server, webhook} from Kubernetes 1.32 on,
audit: {folder, days: for which the snapshot store keeps the log, 0: it is not copied}}."""


def read(root: Path) -> Configuration:
    """Return the configuration. Raise OSError or ValueError if the file is missing or incomplete."""
    return json.loads((root / PATH.lstrip("/")).read_text())
