"""The manifests for Azure of docs/pod-identity.md, judged by what Microsoft's library reads in a pod."""

from pathlib import PureWindowsPath
from typing import Any

import pytest
import yaml
from azure.identity._constants import EnvironmentVariables

from components.azure.pod_identity import AUDIENCE
from tests.docs import pages

PAGE = pages.ROOT / "docs" / "pod-identity.md"


def pods() -> dict[str, dict[str, Any]]:
    """Return the pods by their operating system."""
    section = PAGE.read_text().partition("### In a pod on Azure")[2]
    text = section.partition("```yaml\n")[2].partition("```")[0]
    return {each["spec"]["nodeSelector"]["kubernetes.io/os"]: each for each in yaml.safe_load_all(text)}


@pytest.mark.parametrize("system", ["linux", "windows"])
def test_a_pod_has_what_the_library_reads_and_the_token_that_entra_exchanges(system: str) -> None:
    [container] = pods()[system]["spec"]["containers"]
    given = {each["name"]: each["value"] for each in container["env"]}
    assert given.keys() == {EnvironmentVariables.AZURE_CLIENT_ID, *EnvironmentVariables.WORKLOAD_IDENTITY_VARS}
    [volume] = pods()[system]["spec"]["volumes"]
    [source] = volume["projected"]["sources"]
    token, [mount] = source["serviceAccountToken"], container["volumeMounts"]
    assert token["audience"] == AUDIENCE and mount["name"] == volume["name"]
    path = given[EnvironmentVariables.AZURE_FEDERATED_TOKEN_FILE]
    if system == "windows":
        drive, *parts = PureWindowsPath(path).parts
        assert drive == "C:\\"
        path = f"/{'/'.join(parts)}"
    assert path == f"{mount['mountPath']}/{token['path']}"
