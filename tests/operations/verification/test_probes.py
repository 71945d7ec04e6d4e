"""Rows of `mullion verify` about probes, which the kubelet sends to pods on its own node."""

import pytest

from operations.verification.run import VerifyRequest, verify
from operations.verification.verdicts import Verdict
from tests.operations.verification.cluster import MIXED, FakeApi, node
from tests.operations.verification.test_verify import NAMES, OUTSIDE, good

NEWER = node("web-1", "windows", "10.20.0.7", build="10.0.20348")


@pytest.mark.parametrize(("overlay", "verdict"), [(True, Verdict.LIMIT), (False, Verdict.FAILED)])
@pytest.mark.parametrize("what", ["http probe", "tcp probe"])
def test_smk_12_probes_from_a_windows_server_2019_host_are_a_known_limit_in_mode_overlay_only(
    what: str, overlay: bool, verdict: Verdict
) -> None:
    api = FakeApi(MIXED, good)
    api.lacks = {what}
    rows = verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01, overlay=overlay))  # type: ignore[arg-type]
    assert {row.system: row.verdict for row in rows if row.what == what} == {
        "linux": Verdict.FAILED,
        "windows": verdict,
    }


def test_smk_12_each_windows_build_gets_http_tcp_and_exec_probes() -> None:
    api = FakeApi([*MIXED[:3], NEWER], good)
    verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    probed = [each for each in api.made if "-probe-" in each["metadata"]["name"]]
    found = {
        (pod["spec"]["nodeSelector"]["kubernetes.io/hostname"], kind)
        for pod in probed
        for kind in pod["spec"]["containers"][0]["readinessProbe"]
        if kind not in ("periodSeconds", "timeoutSeconds")
    }
    kinds = ("httpGet", "tcpSocket", "exec")
    assert found == {(name, kind) for name in ("linux-0", "web-0", "web-1") for kind in kinds}


def test_smk_03_web_servers_become_ready_although_the_host_reaches_no_pod() -> None:
    api = FakeApi(MIXED, good)
    verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    pods = [each["spec"]["template"]["spec"] for each in api.made if each["kind"] == "Deployment"]
    for container in (pod["containers"][0] for pod in pods):
        assert "exec" in container["readinessProbe"]
        assert "livenessProbe" not in container
