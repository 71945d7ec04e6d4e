"""The credentials file of docs/pod-identity.md, judged by Google's library and Google's description of its STS."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import yaml
from google.auth import identity_pool
from google.auth.transport.requests import Request
from googleapiclient import discovery_cache

from tests.docs import pages

PAGE = pages.ROOT / "docs" / "pod-identity.md"
PROVIDER = "projects/100000000000/locations/global/workloadIdentityPools/pods-dev-bcdfgh/providers/cluster"
STS = json.loads((Path(discovery_cache.__file__).parent / "documents" / "sts.v1.json").read_text())


def manifests() -> list[dict[str, Any]]:
    """Return the ConfigMap and the pod of the page, for a provider."""
    section = PAGE.read_text().partition("## On Google Cloud")[2]
    text = next(each.partition("```")[0] for each in section.split("```yaml\n") if "kind: ConfigMap" in each)
    return list(yaml.safe_load_all(text.replace("PROVIDER", PROVIDER)))


class Exchange(BaseHTTPRequestHandler):
    """The STS service, which records the form that it gets."""

    asked: list[dict[str, str]]

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.asked.append({name: value for name, (value,) in form.items()})
        answer = json.dumps({"access_token": "federated", "expires_in": 3600, "token_type": "Bearer"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no line for each request."""


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


def test_googles_library_exchanges_the_pods_token_as_the_service_describes(tmp_path: Path) -> None:
    config = json.loads(manifests()[0]["data"]["credentials.json"])
    assert config["token_url"] == f"{STS['rootUrl']}{STS['resources']['v1']['methods']['token']['path']}"
    (tmp_path / "token").write_text("token of the service account")
    asked: list[dict[str, str]] = []
    with HTTPServer(("127.0.0.1", 0), type("Recording", (Exchange,), {"asked": asked})) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        config["token_url"] = f"http://127.0.0.1:{server.server_port}/v1/token"
        config["credential_source"]["file"] = str(tmp_path / "token")
        credentials = identity_pool.Credentials.from_info(
            config, scopes=["https://www.googleapis.com/auth/cloud-platform"]
        )
        credentials.refresh(Request())
        server.shutdown()
    assert credentials.token == "federated"
    (form,) = asked
    described = STS["schemas"][STS["resources"]["v1"]["methods"]["token"]["request"]["$ref"]]["properties"]
    assert {camel(name) for name in form} <= described.keys()
    assert form["audience"] == f"//iam.googleapis.com/{PROVIDER}"
    assert form["subject_token"] == "token of the service account"
    assert form["subject_token_type"] in described["subjectTokenType"]["description"]


def test_the_pods_token_has_an_audience_that_a_provider_takes_without_a_list_of_its_own() -> None:
    """Google: without allowedAudiences "the full canonical resource name ... with or without the HTTPS prefix"."""
    pod = manifests()[1]
    (volume,) = pod["spec"]["volumes"]
    token = volume["projected"]["sources"][1]["serviceAccountToken"]
    assert token["audience"] == f"https://iam.googleapis.com/{PROVIDER}"
    (mount,) = pod["spec"]["containers"][0]["volumeMounts"]
    config = json.loads(manifests()[0]["data"]["credentials.json"])
    assert config["credential_source"]["file"] == f"{mount['mountPath']}/{token['path']}"
