"""Names in Go sources of Kubernetes modules: feature gates, command-line flags, fields of documents, constants.

Reads gofmt-formatted text without a build, so it also reads versions that no installed Go can compile.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from components.releases.order import within

_CONSTANT = re.compile(r'^\s*(?:const |var )?(\w+)(?: +[\w.]+)? *= *(?:[\w.]+\()?"([^"\n]*)"', re.MULTILINE)
_SPECS = re.compile(r"^\t+(?:\w+\.)?(\w+): \{\n((?:\s*(?://.*|\{Version:.*)\n)+)", re.MULTILINE)
_GATE_OF_KUBEADM = re.compile(r"^\t(\w+): \{\s*FeatureSpec:", re.MULTILINE)
_SPEC = re.compile(r'Version: *\w+\.MustParse\("([\d.]+)"\), *Default: *(true|false)(.*)')
_FIRST_ARGUMENT = r"(?:[^,()\"`;]|\((?:[^()\"`;]|\([^()\"`;]*\))*\))+"
_FLAG = re.compile(rf'\.\w*Var\w*\({_FIRST_ARGUMENT},\s*(?:fmt\.Sprintf\("([^"]*)"|"([a-z][a-z0-9_-]*)")')
_FLAG_OF_CONSTANT = re.compile(r"\.\w*Var\w*\(&?[^,\"\n]+, *(?:\w+\.)?(\w+),")
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_OTHER_TYPE = re.compile(r"^type (\w+) =? *([\w.\[\]*]+)$", re.MULTILINE)
_FIELD = re.compile(r'^\t(?:\w+ +)?([\w.\[\]*]+) +`json:"([^",]*)[,"]', re.MULTILINE)
_COMMENT = re.compile(r"^\s*//.*\n| +//.*$", re.MULTILINE)

_KINDS = {
    "bool": "bool",
    "string": "text",
    "float32": "number",
    "float64": "number",
    "corev1.PullPolicy": "text",
    "[]string": "texts",
    "map[string]bool": "bool-map",
    "map[string]string": "text-map",
    "metav1.Duration": "duration",
    **dict.fromkeys(("int", "int32", "int64", "uint", "uint32"), "count"),
}
"""Go type -> type in the tables. A number that may be negative is `int` there: read the field's validation."""


@dataclass(frozen=True)
class Gate:
    """A feature gate in one version."""

    name: str
    locked: bool | None
    """The only allowed value; None if both are allowed."""


def sources(*places: Path, windows: bool = True) -> str:
    """Return the text of all Go files at and below the places, without tests, one after the other.

    `windows`: also files that are only built for Windows.
    """
    files = (file for place in places for file in _files(place))
    return "\n".join(file.read_text("utf-8") for file in files if windows or not file.stem.endswith("_windows"))


def constants(text: str) -> Mapping[str, str]:
    """Return the string constants: name -> value."""
    return dict(_CONSTANT.findall(text))


def gates(text: str, names: Mapping[str, str], minor: str) -> Iterator[Gate]:
    """Yield the gates that the text registers; `names` are the constants of all files that define gates."""
    text = _COMMENT.sub("", text)
    for constant, specs in _SPECS.findall(text):
        stages = [stage for stage in _SPEC.findall(specs) if within(stage[0], "", minor)]
        if constant in names and stages:
            _, default, rest = stages[-1]
            yield Gate(names[constant], default == "true" if "LockToDefault: true" in rest else None)
    for constant in _GATE_OF_KUBEADM.findall(text):
        yield Gate(names[constant], None)


def flags(text: str, parts: Iterable[str] = ()) -> frozenset[str]:
    """Return the names of flags that the text defines; a format such as "audit-%s-mode" is filled with every part."""
    text = _COMMENT.sub("", text)
    names = constants(text)
    found = set[str]()
    for form, name in _FLAG.findall(text):
        found |= {name} if name else {form.replace("%s", part) for part in parts}
    found |= {names[name] for name in _FLAG_OF_CONSTANT.findall(text) if name in names}
    # programs that normalise names accept both forms
    return frozenset(found | {name.replace("_", "-") for name in found})


def fields(text: str, root: str) -> Mapping[str, str]:
    """Return the fields of a struct, those of structs in it with dots, as the tables write their types."""
    text = _COMMENT.sub("", text)
    structs: dict[str, str] = dict(_STRUCT.findall(text))
    others: dict[str, str] = dict(_OTHER_TYPE.findall(text))
    return dict(_fields(structs[root], "", structs, others))


def _fields(body: str, prefix: str, structs: Mapping[str, str], others: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for go_type, name in _FIELD.findall(body):
        type_name = go_type.removeprefix("*").rpartition(".")[2]
        if not name:
            if type_name in structs:
                yield from _fields(structs[type_name], prefix, structs, others)
            continue
        path, kind = prefix + name, _kind(go_type, others)
        if kind == "any" and type_name in structs:
            yield path, "object"
            yield from _fields(structs[type_name], f"{path}.", structs, others)
        elif name not in ("-", ""):
            yield path, kind


def _kind(go_type: str, others: Mapping[str, str]) -> str:
    go_type = go_type.removeprefix("*")
    if go_type in _KINDS:
        return _KINDS[go_type]
    if go_type.startswith("[]"):
        return "list"
    if go_type.startswith("map["):
        return "map"
    meant = others.get(go_type.rpartition(".")[2])
    return _kind(meant, others) if meant and meant != go_type else "any"


def _files(place: Path) -> Iterator[Path]:
    files = sorted(place.rglob("*.go")) if place.is_dir() else [place]
    return (file for file in files if not file.name.endswith("_test.go") and "testdata" not in file.parts)
