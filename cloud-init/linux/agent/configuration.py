"""What the plan tells the agent: /etc/mullion/agent.json, written by the executor (components/node/agent.py has it)."""

import json
from pathlib import Path
from typing import Any

PATH = "/etc/mullion/agent.json"
STAMP = "/var/lib/mullion/applied"
"""Digest of the ClusterConfiguration that this machine's static pods were made from."""
TURN = "/var/lib/mullion/turn"
"""JSON, there while this machine may change itself: {"serial", "snapshot": its key or "", "started": the
executor was, "before": when the run before began}."""

Configuration = dict[str, Any]
"""{kubeconfig, founder, digest, token: {secret, kubeconfig, lifetime_hours}, upgrade: {apply, node, last: [argv]},
etcd: {find, etcdctl}, snapshots: {file, every_minutes, keep, days}, certificates: {files, days, renew},
encryption: {secret, member, path, resources},
service_account: {secret, member, private, public}, founding: {store, log, cluster},
pods: {find: {component: argv}, stop, running, started}}."""


def read(root: Path) -> Configuration:
    """The file. OSError or ValueError where it is not there or not whole."""
    return json.loads((root / PATH.lstrip("/")).read_text())
