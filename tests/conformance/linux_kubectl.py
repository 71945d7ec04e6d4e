"""Stands in for kubectl in cases: keeps the data of objects in a file, and takes only the words that the executor has
reason to use; anything else ends with 64. Standard library alone.

    python linux_kubectl.py FILE --kubeconfig PATH WORDS...

FILE: {"apiVersion|kind|namespace|name": data or the rest of the object}. A Node that is deleted is there again at once,
as its kubelet registers it: {"kubelet|NAME": the Node's rest}.
"""

import json
import sys
from pathlib import Path
from typing import Any

APPLY = ["apply", "--server-side", "--force-conflicts", "--field-manager", "mullion", "--filename", "-"]
DELETE = ["delete", "--ignore-not-found", "--wait=false", "--filename", "-"]
NODE = ["--ignore-not-found", "--output=json"]
DELETE_NODE = ["--ignore-not-found", "--wait=false"]
INVENTORY = ["get", "configmap", "mullion-addons", "--namespace", "kube-system", "--ignore-not-found"]


def place(manifest: dict[str, Any]) -> str:
    """The object's name in the file."""
    about = manifest["metadata"]
    return "|".join((manifest["apiVersion"], manifest["kind"], about.get("namespace", ""), about["name"]))


def given() -> list[dict[str, Any]]:
    """Manifests on standard input: a List, or one."""
    read = json.load(sys.stdin)
    return read["items"] if read["kind"] == "List" else [read]


def main(file: Path, words: list[str]) -> int:
    """What the real one would end with."""
    objects: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    if words == APPLY:
        rest = ("apiVersion", "kind", "metadata")
        for each in given():
            objects[place(each)] = each.get("data", {key: value for key, value in each.items() if key not in rest})
    elif words == DELETE:
        for each in given():
            objects.pop(place(each), None)
    elif words[:2] == ["get", "node"] and words[3:] == NODE:
        found = objects.get(f"v1|Node||{words[2]}")
        sys.stdout.write(json.dumps({"metadata": {"name": words[2]}, **found}) if found else "")
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
