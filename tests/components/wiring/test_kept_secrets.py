"""Generated secrets: the real engine keeps them, rotates them one by one, and never stores them in plain text."""

import base64
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import serialization

from components.machine import pki
from tests.components.wiring.generated_lab import OUTPUTS, URL, Lab, Run, stashes

STASHES = {
    "ci-authorities",
    "ci-cluster-ca",
    "ci-front-proxy-ca",
    "ci-etcd-ca",
    "ci-service-account-0",
    "ci-encryption-0",
    "ci-desired-state",
    "ci-administrator",
    "ci-suffix",
}
MEMBERS = ["ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "etcd/ca.crt", "etcd/ca.key"]
MEMBERS += ["service-account-keys", "encryption-keys"]


SECRET = "4dabf18193072939515e22adb298388d"
"""The key by which Pulumi marks special values."""

pytestmark = [
    pytest.mark.engine,
    # After a refused run the SDK skips closing its event loop, because a task of its server raises during clean-up.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


@pytest.fixture(scope="module")
def lab(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{engine.path.parent}{os.pathsep}{os.environ['PATH']}")
        yield Lab(tmp_path_factory.mktemp("generated"))


STEPS: list[tuple[str, dict[str, int]]] = [
    ("first", {}),
    ("again", {}),
    ("service account", {"service_account": 1}),
    ("encryption", {"service_account": 1, "encryption": 1}),
    ("desired state", {"service_account": 1, "encryption": 1, "desired_state": 1}),
    ("administrator", {"service_account": 1, "encryption": 1, "desired_state": 1, "administrator": 1}),
    ("signer", {"service_account": 2, "encryption": 1, "desired_state": 1, "administrator": 1}),
]
"""Each step raises one more generation than the previous step."""


@pytest.fixture(scope="module")
def runs(lab: Lab) -> dict[str, Run]:
    """Preview an empty stack, then run each step; once for all tests of this module. Return step -> result."""
    assert set(lab.preview()) >= STASHES, "the preview before the first up lists every Stash"
    return {name: lab.up(**rotation) for name, rotation in STEPS}


ROTATED = [  # step, the operations it may cause, outputs and files of the control plane's secret that must change
    ("again", {}, set(), set()),
    ("service account", {"ci-service-account-1": "create"}, set(), {"service-account-keys"}),
    ("encryption", {"ci-encryption-1": "create"}, set(), {"encryption-keys"}),
    ("desired state", {"ci-desired-state": "replace"}, {"desired_state_key"}, set()),
    ("administrator", {"ci-administrator": "replace"}, {"administrator", "kubeconfig"}, set()),
    (
        "signer",
        {"ci-service-account-2": "create", "ci-service-account-0": "delete"},
        set(),
        {"service-account-keys"},
    ),
]


@pytest.mark.parametrize(("step", "operations", "outputs", "files"), ROTATED, ids=[each[0] for each in ROTATED])
def test_a_raised_generation_replaces_only_that_value_and_values_derived_from_it(
    runs: dict[str, Run], step: str, operations: dict[str, str], outputs: set[str], files: set[str]
) -> None:
    names = [name for name, _ in STEPS]
    before, after = runs[names[names.index(step) - 1]], runs[step]
    assert after.operations == operations
    changed = {name for name in OUTPUTS if before.outputs[name] != after.outputs[name]}
    assert changed - {"control_plane_secret"} == outputs
    assert {name for name in MEMBERS if before.files[name] != after.files[name]} == files
    assert ("control_plane_secret" in changed) == bool(files)


def test_every_certificate_verifies_against_the_stored_authority_after_each_rotation(runs: dict[str, Run]) -> None:
    for run in runs.values():
        outputs = run.outputs
        assert run.files["ca.crt"] == outputs["ca_certificate"]
        assert outputs["ca_hash"] == pki.ca_hash(outputs["ca_certificate"])
        pki.verify(outputs["administrator"]["certificate"], outputs["ca_certificate"])
        kubeconfig = yaml.safe_load(outputs["kubeconfig"])
        client = kubeconfig["users"][0]["user"]["client-certificate-data"]
        assert base64.b64decode(client).decode() == outputs["administrator"]["certificate"]
        assert kubeconfig["clusters"][0]["cluster"]["server"] == URL
        for path in ("ca", "front-proxy-ca", "etcd/ca"):
            pair: pki.KeyPair = {"certificate": run.files[f"{path}.crt"], "key": run.files[f"{path}.key"]}
            leaf = pki.administrator_certificate(
                pair, "ci"
            )  # verifies only if the stored key belongs to the stored certificate
            pki.verify(leaf["certificate"], pair["certificate"])


def test_the_control_planes_secret_has_kubeadms_files_and_is_below_every_clouds_limit(runs: dict[str, Run]) -> None:
    assert list(runs["first"].files) == MEMBERS
    size = len(runs["signer"].outputs["control_plane_secret"])
    assert size < 25_600, "the limit is 25 KiB in Key Vault, 64 KiB in Secrets Manager and Secret Manager"


def test_encryption_keys_are_listed_newest_first_and_older_ones_are_kept(runs: dict[str, Run]) -> None:
    (old,) = runs["first"].files["encryption-keys"]
    newest, kept = runs["encryption"].files["encryption-keys"]
    assert kept == old, "Secrets are encrypted with it"
    assert newest != old
    assert {len(base64.b64decode(each, validate=True)) for each in (old, newest)} == {32}, "secretbox needs 32 bytes"


def test_the_two_newest_service_account_keys_are_kept(runs: dict[str, Run]) -> None:
    """Tokens signed by the previous key stay valid until the next raise. The number of a key is its age."""
    first, second, third = (runs[each].files["service-account-keys"] for each in ("first", "service account", "signer"))
    assert [[each["number"] for each in keys] for keys in (first, second, third)] == [[1], [2, 1], [3, 2]]
    assert (second[1], third[1]) == (first[0], second[0])
    for pair in (*second, third[0]):
        key = serialization.load_pem_private_key(pair["private"].encode(), None)
        form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        assert key.public_key().public_bytes(*form).decode() == pair["public"]


def test_the_suffix_is_six_lower_case_letters_and_never_changes(runs: dict[str, Run]) -> None:
    assert re.fullmatch("[a-z]{6}", runs["first"].outputs["suffix"])
    assert {run.outputs["suffix"] for run in runs.values()} == {runs["first"].outputs["suffix"]}


def test_all_stashes_are_children_of_the_component(runs: dict[str, Run]) -> None:
    kept = stashes(runs["first"].state)
    assert set(kept) == STASHES
    assert {each["parent"].split("::", 2)[-1] for each in kept.values()} == {"mullion:index:Generated::ci"}
    assert all(each["ignoreChanges"] == ["input"] for name, each in kept.items() if name != "ci-authorities")


def test_neither_state_nor_log_holds_a_secret_value(lab: Lab, runs: dict[str, Run]) -> None:
    """SEC: searches for the real values: plain, as JSON, in base64, and line by line."""
    values: set[str] = set()
    for run in runs.values():
        keys = [value for name, value in run.files.items() if name.endswith(".key")]
        keys += run.files["encryption-keys"]
        keys += [each["private"] for each in run.files["service-account-keys"]]
        keys += [run.outputs["desired_state_key"], run.outputs["administrator"]["key"], run.outputs["kubeconfig"]]
        for key in keys:
            values |= {key, json.dumps(key)[1:-1], base64.b64encode(key.encode()).decode()}
            values |= {
                line for line in key.splitlines() if len(line) > 40 and "-----" not in line and "cert" not in line
            }
    assert len(values) > 40
    places = {"log": "\n".join(lab.log)}
    folder = Path(lab.stack.workspace.work_dir)
    places |= {str(each): each.read_text(errors="replace") for each in folder.rglob("*") if each.is_file()}
    assert any(name.endswith("ci.json") for name in places), "the state file is among the searched files"
    assert runs["first"].outputs["ca_hash"] in places["log"], "the log contains values that are not secret"
    leaking = {name for name, text in places.items() for value in values if value in text}
    assert not leaking
    for name, each in stashes(lab.state()).items():
        if name not in ("ci-suffix", "ci-authorities"):
            assert set(each["outputs"]["output"]) == {SECRET, "ciphertext"}, f"{name} is encrypted as a whole"
