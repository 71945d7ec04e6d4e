"""Verification of server certificates by node.ps1: real chains, and the delegate that its HTTP client calls."""

import json
from datetime import datetime, timedelta, timezone
from functools import cache

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from components.machine.bundle import CLOUD_INIT
from sandbox.boot.windows.winpwsh import Machine
from tests.certificates import OTHER, signed
from tools.golden.samples import plan

Pair = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]
CHAIN = "RemoteCertificateChainErrors"
JUDGE = r"""
. C:\certificates.ps1
foreach ($case in (ConvertFrom-Json ([IO.File]::ReadAllText('C:\cases.json')))) {
    $chain = [Security.Cryptography.X509Certificates.X509Chain]::new()
    foreach ($each in (ConvertFrom-Pem $case.sent)) { [void]$chain.ChainPolicy.ExtraStore.Add($each) }
    $judge = New-CertificateJudge $case.trusted
    "$($case.name): " + $judge.Invoke($null, (ConvertFrom-Pem $case.leaf)[0], $chain, $case.errors)
}
"""


@cache
def made(
    name: str, issuer: str | None = None, *, ca: bool = True, days: int = 30, usage: bool = True, twin: int = 0
) -> Pair:
    """Create a certificate; `issuer` names another of `AUTHORITIES`. A twin has the same name and another key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(timezone.utc)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    by = AUTHORITIES[issuer]() if issuer else None
    build = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by[0].subject if by else subject)
        .public_key(key.public_key())
        .serial_number(1 if twin or not by else x509.random_serial_number())
        .not_valid_before(now - timedelta(days=60))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if not ca:
        what = ExtendedKeyUsageOID.SERVER_AUTH if usage else ExtendedKeyUsageOID.CLIENT_AUTH
        build = build.add_extension(x509.ExtendedKeyUsage([what]), critical=False)
    return signed(build, by[1] if by else key), key


AUTHORITIES = {
    "root": lambda: made("root"),
    "twin": lambda: made("root", twin=1),
    "other": lambda: made("other"),
    "middle": lambda: made("middle", "root"),
    "leaf": lambda: made("server", "root", ca=False),
}
LEAVES = {
    "leaf": lambda: made("server", "root", ca=False),
    "below": lambda: made("server", "middle", ca=False),
    "late": lambda: made("late", "root", ca=False, days=-1),
    "client": lambda: made("client", "root", ca=False, usage=False),
    "forged": lambda: made("forged", "leaf", ca=False),
}
CASES: list[tuple[str, str, list[str], list[str], str, bool]] = [
    # name, leaf, sent by the server, trusted by the plan, errors that the system found, whether it is trusted
    ("the system finds no error", "leaf", [], ["other"], "None", True),
    ("the plan trusts its authority", "leaf", [], ["root"], CHAIN, True),
    ("its authority is one of several in the plan", "leaf", [], ["other", "root"], CHAIN, True),
    ("another authority", "leaf", [], ["other"], CHAIN, False),
    ("an authority with the right name, number and another key", "leaf", [], ["twin"], CHAIN, False),
    ("an authority above one that the server sends", "below", ["middle"], ["root"], CHAIN, True),
    ("an authority above one that the server does not send", "below", [], ["root"], CHAIN, False),
    ("the plan trusts the intermediate authority", "below", [], ["middle"], CHAIN, True),
    ("the server sends its own authority", "leaf", ["root"], ["other"], CHAIN, False),
    ("an expired certificate", "late", [], ["root"], CHAIN, False),
    ("a client certificate", "client", [], ["root"], CHAIN, False),
    ("a certificate signed by a server certificate", "forged", ["leaf"], ["root"], CHAIN, False),
    ("a certificate of another host", "leaf", [], ["root"], f"RemoteCertificateNameMismatch, {CHAIN}", False),
    ("only the host name is wrong", "leaf", [], ["root"], "RemoteCertificateNameMismatch", False),
    ("the server sent no certificate", "leaf", [], ["root"], "RemoteCertificateNotAvailable", False),
]


def pem(pair: Pair) -> str:
    return pair[0].public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.windows
@pytest.mark.subprocess
def test_a_server_is_trusted_by_the_system_or_by_an_otherwise_valid_chain_to_the_plans_authorities(
    machine: Machine,
) -> None:
    documents = [
        {
            "name": name, "leaf": pem(LEAVES[leaf]()), "sent": [pem(AUTHORITIES[each]()) for each in sent],
            "trusted": [pem(AUTHORITIES[each]()) for each in trusted], "errors": errors,
        }
        for name, leaf, sent, trusted, errors, _ in CASES
    ]  # fmt: skip
    machine.path(r"C:\cases.json").write_text(json.dumps(documents))
    source = CLOUD_INIT / "windows" / "modules" / "certificates.ps1"
    machine.path(r"C:\certificates.ps1").write_bytes(source.read_bytes())
    machine.path(r"C:\judge.ps1").write_text(JUDGE)
    said = machine.pwsh(r"& C:\judge.ps1")[1].splitlines()
    assert said == [f"{name}: {verdict}" for name, *_, verdict in CASES]


TRUSTED = r"""
[Microsoft.Win32.Registry]::SetValue('HKEY_LOCAL_MACHINE\{key}', 'Blob', [Convert]::FromBase64String('{data}'))
$store = [Security.Cryptography.X509Certificates.X509Store]::new('Root', 'LocalMachine')
$store.Open('ReadOnly')
$store.Certificates.Find('FindByThumbprint', '{name}', $false) | ForEach-Object {{ $_.Subject }}
"""


@pytest.mark.windows
@pytest.mark.subprocess
def test_ops_08_a_planned_authority_is_among_the_machines_authorities(machine: Machine) -> None:
    [step] = [each for each in plan("windows-2019", trusted_cas=[OTHER]).steps if each.name.startswith("authority-")]
    key = step.fields["key"].partition("\\")[2]
    script = TRUSTED.format(key=key, name=key.rpartition("\\")[2], data=step.fields["data"])
    machine.path(r"C:\trusted.ps1").write_text(script)
    assert machine.pwsh(r"& C:\trusted.ps1")[1].splitlines() == ["CN=Other Authority"]
