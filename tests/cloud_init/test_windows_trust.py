"""A Windows machine follows the authorities that the cluster publishes."""

import base64
import hashlib
import json
import ssl

import pytest

from sandbox.boot.windows.winpwsh import FOLDER, Machine
from tests.certificates import AUTHORITY, OTHER
from tests.cloud_init.test_windows_epoch import MADE, NUMBERS, node
from tests.cloud_init.watched_node import LOADED, log
from tests.conformance.authority import authority, node_pem, pem

__all__ = ["node"]

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]
CA, CERTIFICATE = r"C:\k\ca.crt", r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
SERVING = CERTIFICATE.replace("client", "server")
RECORD, SAID = r"C:\ProgramData\mullion\authorities", r"C:\said.txt"
KUBECTL = (
    "function Invoke-Kubectl { param($Run, $Program, $Arguments) "
    r"[IO.File]::WriteAllText('C:\asked.txt', \"$($Run.Limit) $Program $Arguments\"); "
    rf"[IO.File]::ReadAllText('{SAID}') }}"
).replace('\\"', '"')
FOLLOW = (
    rf"{LOADED}; . '{FOLDER}\epoch.ps1'; {KUBECTL}; "
    "$run = New-Run @{ machine = @{ name = 'web-0' }; facts = @{ api_url = 'https://api:6443' } } $false; "
    "$trust = Get-NewTrust $run; if ($trust) { Invoke-NewTrust $run $trust }"
)


def publish(machine: Machine, text: str, moment: int = 1) -> None:
    """Let kubectl print cluster-info with these authorities; moment: of their publication, 0 if no agent wrote them."""
    data = base64.b64encode(text.encode()).decode()
    kubeconfig = f"clusters:\n- cluster:\n    certificate-authority-data: {data}\n    server: https://api:6443\n"
    noted = {"annotations": {"mullion.dev/authorities": str(moment)}} if moment else {}
    said = {"metadata": noted, "data": {"kubeconfig": kubeconfig}}
    machine.path(SAID).write_text(json.dumps(said, separators=(",", ":")))  # as API servers write it


def restarted(machine: Machine, before: str = "$null = 0") -> bool:
    """Follow once; return whether the services were restarted."""
    code, said = machine.pwsh(
        f"{before}; {NUMBERS}; {FOLLOW}; Set-StrictMode -Off; {NUMBERS}; $global:LASTEXITCODE = 0"
    )
    assert code == 0, said
    first, second = (line.split() for line in said.splitlines() if line.replace(" ", "").isdigit())
    assert [each == "0" for each in first] == [each == "0" for each in second]
    return first != second


def test_a_machine_follows_each_stage_once_and_restarts_its_programs(node: Machine) -> None:
    for path, text in ((CA, AUTHORITY), (CERTIFICATE, node_pem("good"))):
        node.path(path).parent.mkdir(parents=True, exist_ok=True)
        node.path(path).write_bytes(text.encode())
    publish(node, AUTHORITY)
    assert not restarted(node, MADE), "before a rotation nothing changes"
    assert not node.path(RECORD).exists()
    asked = node.path(r"C:\asked.txt").read_text()
    assert int(asked.split()[0]) >= 30, "seconds for the question: kubectl.exe takes some to start"
    assert f"--certificate-authority={CA}" in asked
    assert "--server=https://api:6443" in asked
    publish(node, AUTHORITY + OTHER, 0)
    assert not restarted(node), "the agent has not published them"
    for trusted, moment in ((AUTHORITY + OTHER, 5), (OTHER, 6)):
        publish(node, trusted, moment)
        assert restarted(node)
        assert node.path(CA).read_bytes().decode() == trusted
        assert not restarted(node), "once"
    publish(node, AUTHORITY, 5)
    assert not restarted(node), "a restore brought them back"
    publish(node, AUTHORITY + OTHER, 7)
    assert restarted(node)
    publish(node, OTHER + AUTHORITY, 8)
    assert not restarted(node), "the same authorities in another order"
    publish(node, OTHER, 9)
    assert restarted(node)
    assert {"name": "Start-ScheduledTask", "asked": {"TaskName": "mullion"}} in node.asked(), "it reports"
    for nothing in ("", "{}", "no certificate"):
        node.path(SAID).write_text(nothing)
        assert not restarted(node)
    assert node.path(CA).read_bytes().decode() == OTHER
    assert log(node).count("the trusted certificate authorities changed: programs that watch it were restarted") == 4


def test_a_certificate_whose_authority_is_no_longer_trusted_counts_as_ended(node: Machine) -> None:
    node.path(CERTIFICATE).parent.mkdir(parents=True, exist_ok=True)
    node.path(CERTIFICATE).write_bytes(node_pem("good").encode())
    step = f"@{{ certificate = '{CERTIFICATE}'; node = 'web-0' }}"
    for trusted, valid in (("", "True"), (pem(authority()) + OTHER, "True"), (OTHER, "False")):
        if trusted:
            node.path(CA).write_bytes(trusted.encode())
        code, said = node.pwsh(f"{LOADED}; Test-NodeCertificate {step}; $global:LASTEXITCODE = 0")
        assert (code, said.split()[-1]) == (0, valid), said
    node.path(SERVING).write_bytes(OTHER.encode())  # it signed itself
    for trusted, valid in ((pem(authority()) + OTHER, "True"), (pem(authority()), "False")):
        node.path(CA).write_bytes(trusted.encode())
        code, said = node.pwsh(f"{LOADED}; Test-NodeCertificate {step}; $global:LASTEXITCODE = 0")
        assert (code, said.split()[-1]) == (0, valid), said


def test_a_machine_reports_again_when_its_kubelet_has_a_certificate_of_another_authority(node: Machine) -> None:
    for path, text in ((CA, AUTHORITY), (CERTIFICATE, node_pem("good")), (SAID, "")):
        node.path(path).parent.mkdir(parents=True, exist_ok=True)
        node.path(path).write_bytes(text.encode())
    started = {"name": "Start-ScheduledTask", "asked": {"TaskName": "mullion"}}
    assert node.pwsh(f"{MADE}; $global:LASTEXITCODE = 0")[0] == 0
    facts = "facts = @{ api_url = 'https://api:6443'; status_url = 'https://store/status/a:' }"
    watch = (
        rf"{LOADED}; . '{FOLDER}\epoch.ps1'; {KUBECTL}; Invoke-TrustWatch "
        f"(New-Run @{{ machine = @{{ name = 'web-0' }}; {facts} }} $false); $global:LASTEXITCODE = 0"
    )
    recorded = f'{LOADED}; Set-WholeFile $TrustReported $Utf8.GetBytes("$(Get-TrustText) $(Get-SignerText)")'
    for served, reports in (("", True), ("", False), (node_pem("good"), True), (node_pem("good"), False)):
        before = node.asked().count(started)
        if served:
            node.path(SERVING).write_bytes(served.encode())
        code, said = node.pwsh(watch)
        assert code == 0, said
        assert (node.asked().count(started) > before) == reports
        assert node.pwsh(f"{recorded}; Get-SignerText; $global:LASTEXITCODE = 0")[0] == 0
    said = node.pwsh(f"{LOADED}; Get-SignerText; $global:LASTEXITCODE = 0")[1].splitlines()
    assert said[-1].strip() == ",".join(["mullion test authority"] * 2)


def test_the_executor_keeps_authorities_that_the_machine_follows(node: Machine) -> None:
    node.path(CA).write_bytes(OTHER.encode())
    step = f"@{{ path = '{CA}'; hash = 'sha256:{'0' * 64}' }}"
    keeps = f"{LOADED}; Test-CertificateAuthorityStep $null {step}; $global:LASTEXITCODE = 0"
    assert node.pwsh(keeps)[1].split()[-1] == "False"
    recorded = f"[IO.File]::WriteAllText('{RECORD}', (Get-Sha256 ([IO.File]::ReadAllBytes('{CA}'))) + ' 1 loaded')"
    assert node.pwsh(f"{LOADED}; {recorded}; $global:LASTEXITCODE = 0")[0] == 0
    assert node.pwsh(keeps)[1].split()[-1] == "True"


def test_the_status_record_names_the_trusted_authorities_by_their_fingerprints(node: Machine) -> None:
    asks = f"{LOADED}; '[' + (Get-TrustText) + ']'; $global:LASTEXITCODE = 0"
    assert node.pwsh(asks)[1].split()[-1] == "[]"
    node.path(CA).write_bytes((OTHER + AUTHORITY).encode())
    wanted = ",".join(hashlib.sha256(ssl.PEM_cert_to_DER_cert(each)).hexdigest() for each in (OTHER, AUTHORITY))
    assert node.pwsh(asks)[1].split()[-1] == f"[{wanted}]"
