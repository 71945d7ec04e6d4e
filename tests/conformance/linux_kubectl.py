"""Stand-in for kubectl in cases: keeps objects in a file, and accepts only the arguments that the executor may use.

Other arguments exit with 64. It uses only the standard library.

    python linux_kubectl.py FILE --kubeconfig PATH WORDS...

FILE: {"apiVersion|kind|namespace|name": data or the rest of the object}. A deleted Node is created again at once, as
its kubelet would register it: {"kubelet|NAME": the rest of the Node}.
"""

import json
import sys
from pathlib import Path
from typing import Any

APPLY = ["apply", "--server-side", "--force-conflicts", "--field-manager", "mullion", "--filename", "-"]
DELETE = ["delete", "--ignore-not-found", "--wait=false", "--filename", "-"]
ESTABLISHED = ["wait", "--for=condition=Established", "--timeout=60s"]
NODE = ["--ignore-not-found", "--output=json"]
DELETE_NODE = ["--ignore-not-found", "--wait=false"]
INVENTORY = ["get", "configmap", "mullion-addons", "--namespace", "kube-system", "--ignore-not-found"]


def place(manifest: dict[str, Any]) -> str:
    """Return the object's key in the file."""
    about = manifest["metadata"]
    return "|".join((manifest["apiVersion"], manifest["kind"], about.get("namespace", ""), about["name"]))


def given() -> list[dict[str, Any]]:
    """Return the manifests on standard input: of a List, or a single one."""
    read = json.load(sys.stdin)
    return read["items"] if read["kind"] == "List" else [read]


def main(file: Path, words: list[str]) -> int:
    """Return the exit code that the real kubectl would have."""
    objects: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    if words == APPLY:
        rest = ("apiVersion", "kind", "metadata")
        for each in given():
            objects[place(each)] = each.get("data", {key: value for key, value in each.items() if key not in rest})
    elif words == DELETE:
        for each in given():
            objects.pop(place(each), None)
    elif words[:3] == ESTABLISHED:
        return 0 if all(f"apiextensions.k8s.io/v1|{word.replace('/', '||')}" in objects for word in words[3:]) else 1
    elif words[:2] == ["get", "node"] and words[3:] == NODE:
        manifest = objects.get(f"v1|Node||{words[2]}")
        sys.stdout.write(json.dumps({"metadata": {"name": words[2]}, **manifest}) if manifest else "")
    elif words[:2] == ["delete", "node"] and words[3:] == DELETE_NODE:
        objects.pop(f"v1|Node||{words[2]}", None)
        if registered := objects.get(f"kubelet|{words[2]}"):
            objects[f"v1|Node||{words[2]}"] = registered
    elif words == [*INVENTORY, "--output", "json"]:
        data = objects.get("v1|ConfigMap|kube-system|mullion-addons")
        sys.stdout.write(json.dumps({"data": data}) if data is not None else "")
    elif words[0] == "get" and words[1::2] == ["--filename"] * (len(words) // 2 - 1) + ["--output"]:
        named = [each for path in words[2:-2:2] for each in json.loads(Path(path).read_text())["items"]]
        return 0 if all(place(each) in objects for each in named) else 1
    else:
        sys.stderr.write(f"kubectl: this stand-in does not take {words}\n")
        return 64
    file.write_text(json.dumps(objects))
    return 0


if __name__ == "__main__":
    if sys.argv[2] != "--kubeconfig":
        sys.exit(64)
    sys.exit(main(Path(sys.argv[1]), sys.argv[4:]))
