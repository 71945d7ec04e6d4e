"""Helpers of the Linux executor's tests: stand-ins for programs, archives, a certificate, steps of most kinds."""

import gzip
import hashlib
import io
import stat
import tarfile
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from components.machine.user_data import document, user_data
from tests.cloud_init.cloud import FakeCloud
from tests.conformance import linux_programs

TOKEN = "abcdef.0123456789abcdef"
"""Text of the secret `join`."""
NUMBER, OWN_TOKEN = "00112233445566778899aabbccddeeff", "0i4pgu.ctb3dv60bnxbf16h"
"""A machine's random number, and its token: letters of HMAC-SHA-256 of the number with TOKEN as key."""
Execute = Callable[..., dict[str, Any]]


class Programs:
    """Stand-ins for the machine's programs: record what was started; `answers` by first words of the call.

    systemctl, iptables and others with state are the conformance suite's stand-ins, below the test's root.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: list[list[str]] = []
        self.inputs: list[str] = []
        self.answers: dict[str, tuple[int, str]] = {}
        self.effects: dict[str, Callable[[], object]] = {}

    def start(
        self, argv: tuple[str, ...], seconds: float, environment: dict[str, str] | None = None, text: str = ""
    ) -> Any:
        """Stands in for programs.start."""
        self.asked.append(list(argv))
        self.inputs.append(text)
        line = " ".join(argv)
        for start, effect in self.effects.items():
            if line.startswith(start):
                effect()
        told = next((a for start, a in self.answers.items() if line.startswith(start)), None)
        kept = (
            linux_programs.answer(self.root, argv[0], list(argv[1:])) if argv[0] in linux_programs.PROGRAMS else (0, "")
        )
        code, said = told or kept
        return SimpleNamespace(returncode=code, stdout=said, stderr="")


def outcomes(result: dict[str, Any]) -> list[str]:
    """Return held or set for each step."""
    assert result["state"] == "done", result
    return [step["outcome"] for phase in result["phases"] for step in phase["steps"]]


def put(root: Path, path: str, text: str) -> None:
    """Write a file below the root."""
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def loader_of_user_data(folder: Path, cloud: FakeCloud, url: str, digest: str) -> Path:
    """Write the loader and machine.json of a machine's user-data to the folder; return the loader's path.

    url, digest: of the bundle. Only the metadata service's address and the folder are replaced.
    """
    told = user_data("linux", document(url, digest, {"name": "linux-0"}, cloud.facts), "aws")
    text = told.replace("/opt/mullion", str(folder)).replace("http://169.254.169.254", cloud.url)
    for file in yaml.safe_load(text)["write_files"][:2]:
        Path(file["path"]).write_text(file["content"])
    return folder / "loader.py"


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def tar_of(files: dict[str, bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    """Return a tar.gz of these files; the bytes are always the same."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.type = len(content), 0o755, kind
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def fetched(cloud: FakeCloud, content: bytes, **unpack: Any) -> list[dict[str, Any]]:
    """Return steps that download and unpack the content."""
    cloud.objects["/public/a"] = content
    url = f"{cloud.url}/public/a"
    return [
        {"kind": "artifact", "url": url, "digest": sha256(content), "path": "/var/a"},
        {"kind": "archive", "source": "/var/a", "target": "/opt/bin", **unpack},
    ]


def certificate() -> tuple[str, str]:
    """Return a self-signed certificate as PEM and sha256:<hex> of its public key, made with `cryptography`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
    now = datetime.now(timezone.utc)
    build = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    build = build.serial_number(x509.random_serial_number()).not_valid_before(now).not_valid_after(now + timedelta(1))
    made = build.sign(key, hashes.SHA256())
    der = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return made.public_bytes(serialization.Encoding.PEM).decode(), sha256(der)


SIMPLE = [
    {"kind": "directory", "path": "/etc/mullion/x"},
    {"kind": "directory", "path": "/etc/mullion/y", "access": "private"},
    {"kind": "file", "path": "/etc/a.conf", "content": "a = 1\n"},
    {"kind": "file", "path": "/usr/bin/a", "content": "#!/bin/sh\n", "executable": True},
    {"kind": "file", "path": "/etc/a.json", "format": "json",
     "content": {"enforce": [], "taints": {"ref": "registration.taints"}}},
    {"kind": "file", "path": "/etc/b.yaml", "format": "documents",
     "content": [{"a": 1}, {"ip": {"ref": "machine.address"}}]},
    {"kind": "secret", "path": "/etc/pki/ca.key", "secret": {"ref": "facts.pki_secret"}, "member": "ca.key"},
    {"kind": "encryption-configuration", "path": "/etc/e.json", "secret": "pki", "member": "keys",
     "resources": ["secrets"]},
    {"kind": "authorization-configuration", "path": "/etc/authorization.json", "webhook": "/etc/webhook.json"},
    {"kind": "service-account-keys", "private": "/etc/sa.key", "public": "/etc/sa.pub", "secret": "pki",
     "member": "signers"},
    {"kind": "environment", "variable": "CRI", "value": "unix:///run/c.sock"},
    {"kind": "sysctl", "key": "net.ipv4.ip_forward", "value": "1"},
    {"kind": "claim", "store": {"ref": "facts.secret_service"}, "log": "snapshots/founding", "cluster": "sha256:a",
     "founder": "/v/founder", "member": "/v/member"},
    {"kind": "service", "service": "containerd", "command": ["/usr/bin/containerd"], "start": "boot"},
    {"kind": "file", "path": "/etc/token", "content": {"ref": "node.bootstrap_token"}, "access": "private"},
]  # fmt: skip
