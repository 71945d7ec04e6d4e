"""Further API servers of a served cluster, with the issuers of a plan: control planes before and after their turn."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from components.machine.pki import SigningKey
from tests.awaited import until
from tests.lab.agent.free_ports import held_ports
from tests.lab.agent.served import Served
from tests.lab.rendered import Variant, of_variant

ISSUERS = (
    *("service-account-issuer", "service-account-jwks-uri", "api-audiences"),
    "service-account-max-token-expiration",
)


def issuers(kubernetes: str, **cluster: Any) -> list[tuple[str, str]]:
    """Return the flags about issuers that a plan gives an API server, in their order; as kubeadm's if it gives none."""
    variant = Variant("pods", cluster, {})
    plane = next(each for each in of_variant(kubernetes, variant) if each.pool == "control-plane")
    [document] = [each for each in plane.content("init-config") if each["kind"] == "ClusterConfiguration"]
    given = [(each["name"], each["value"]) for each in document["apiServer"]["extraArgs"]]
    kubeadms = [(ISSUERS[0], "https://kubernetes.default.svc.cluster.local")]
    return [each for each in given if each[0] in ISSUERS] or kubeadms


class SecondServer:
    """An API server with the same etcd and certificates as the served one, and other keys and issuers."""

    def __init__(self, served: Served, folder: Path, flags: list[tuple[str, str]], keys: Sequence[SigningKey]) -> None:
        """keys: of service-account tokens; the first one signs, and all verify."""
        self.served, self.folder = served, folder
        folder.mkdir()
        [held] = held_ports(1)
        self.port = held.getsockname()[1]
        held.close()
        (folder / "sa.key").write_text(keys[0]["private"])
        (folder / "sa.pub").write_text("".join(each["public"] for each in keys))
        others = {**served._api_server(), "secure-port": self.port, "audit-log-path": folder / "audit.jsonl"}
        others |= {
            "service-account-key-file": folder / "sa.pub",
            "service-account-signing-key-file": folder / "sa.key",
        }
        del others["service-account-issuer"]
        argv = [str(served.programs["kube-apiserver"]), *(f"--{name}={value}" for name, value in flags)]
        argv += [f"--{name}={value}" for name, value in others.items()]
        with (folder / "log").open("ab") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def __enter__(self) -> "SecondServer":
        until(lambda: self.kubectl("get", "--raw", "/readyz") == "ok", "the API server is ready", log=self._log)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def kubectl(self, *words: str) -> str:
        """Return kubectl's output as the administrator."""
        assert self.process.poll() is None, self._log()
        return self.served.kubectl("--server", f"https://127.0.0.1:{self.port}", *words)

    def token(self, account: str, *words: str) -> str:
        """Return a token of a service account of the namespace `shop`."""
        return self.kubectl("create", "token", account, "--namespace", "shop", *words).strip()

    def document(self, path: str) -> Any:
        """Return a JSON document of the API server."""
        return json.loads(self.kubectl("get", "--raw", path))

    def accepts(self, token: str) -> bool:
        """Return whether the API server takes a token for a user's. Raises RuntimeError for any other answer."""
        words = ["curl", "--silent", "--cacert", str(self.served.pki / "ca.crt"), "--output", "/dev/null"]
        words += ["--write-out", "%{http_code}", "--config", "-", f"https://127.0.0.1:{self.port}/apis"]
        header = f'header = "Authorization: Bearer {token}"'
        ended = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60, input=header)
        if ended.stdout not in ("200", "401"):
            raise RuntimeError(f"/apis answers {ended.stdout}")
        return ended.stdout == "200"

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]
