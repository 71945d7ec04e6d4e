"""Clients that read and write through the load balancer without a pause, on a worker, while a cluster changes."""

import json
import re
from dataclasses import dataclass
from itertools import groupby

from sandbox.boot.machine import Machine

ASKING = """
while true; do
  for method in GET PATCH; do
    began=$(date +%s.%N)
    set -- --request $method
    [ $method = PATCH ] && set -- "$@" --header 'Content-Type: application/merge-patch+json' \\
      --data "{\\"data\\":{\\"$NAME\\":\\"$began\\"}}"
    code=$(curl --silent --output /dev/null --write-out '%{http_code} %{exitcode} %{errormsg}' \\
      --max-time 10 --cacert "$CA" --header "Authorization: Bearer $(cat /root/token)" "$@" \\
      "$URL/api/v1/namespaces/default/configmaps/asked")
    echo "$began $(date +%s.%N) $method $code" >>/root/asked.$NAME
  done
  sleep 0.3
done
"""
CUT = re.compile("SSL_ERROR_SYSCALL|reset by peer|unexpected eof|Connection reset", re.IGNORECASE)
"""What curl says of a handshake that was cut off; a refused certificate is another text, or exit code 60."""
RULES = json.dumps({
    "apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "asked", "namespace": "default"}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "asking", "namespace": "default"}},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "asking"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"kind": "ServiceAccount", "name": "asking", "namespace": "default"}],
        },
    ],
})  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """One request: when it began and ended (s since 1970), its method, status (000: no answer), curl's exit code, and
    what curl said."""

    began: float
    ended: float
    method: str
    status: str
    code: str
    said: str = ""

    @property
    def passed(self) -> bool:
        return self.status == "200"

    @property
    def refused(self) -> bool:
        """Whether one side refused the other: the user (401, 403), or the certificate (60, and 35 unless cut off).

        Other failures are those of a server that is being restarted: no answer, a timeout, a cut connection, a 5xx.
        """
        return self.status in ("401", "403") or self.code == "60" or (self.code == "35" and not CUT.search(self.said))


@dataclass(frozen=True)
class Client:
    """A client on a worker that trusts the authorities in one file."""

    worker: Machine
    name: str

    def start(self, ca: str, url: str) -> None:
        """Ask until the machine is off."""
        self.worker.file("/root/asking").write_text(ASKING)
        words = ("--setenv", f"NAME={self.name}", "--setenv", f"CA={ca}", "--setenv", f"URL={url}")
        ran = self.worker.run("systemd-run", f"--unit=asking-{self.name}", *words, "bash", "/root/asking")
        assert ran.returncode == 0, ran.stderr

    def stop(self) -> None:
        self.worker.run("systemctl", "stop", f"asking-{self.name}")

    def asked(self) -> list[Asked]:
        """Return the requests so far."""
        text = self.worker.file(f"/root/asked.{self.name}").read_text()
        lines = [line.split(maxsplit=5) for line in text.splitlines()]
        return [Asked(float(began), float(ended), *rest) for began, ended, *rest in lines]

    def outages(self, since: float) -> list[list[Asked]]:
        """Return the failed requests that began after a time (s since 1970), neighbours together."""
        found = (each for each in self.asked() if each.began > since)
        return [list(group) for passed, group in groupby(found, lambda each: each.passed) if not passed]


def permit(head: Machine, worker: Machine) -> None:
    """Let clients of a worker use the API, by a token that is valid for a day."""
    head.file("/root/asking.json").write_text(RULES)
    head.kubectl("apply", "--filename", "/root/asking.json")
    worker.file("/root/token").write_text(head.kubectl("create", "token", "asking", "--duration=24h"))
