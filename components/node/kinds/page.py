"""Renders docs/node-plan.md: the format of plan.json, its references, and every kind of step."""

from collections.abc import Iterable

from components.node.kinds.model import BOTH, Cut, Field, Kind, OnChange, Type
from components.node.kinds.references import REFERENCES
from components.node.kinds.table import KINDS, TUNING

HEADER = """# Node plans

Written by `make generate` from the tables in `components/node/kinds/`; the same tables give
[node-plan.schema.json](node-plan.schema.json) (JSON schema, draft 2020-12), and every plan is checked against them when
it is made.

A node plan says what a machine of one role and pool becomes. It is data; [a small executor](how-a-machine-boots.md)
makes it true: it tests each step, sets it if the test says no, and tests again. So a second run sets nothing, a run
that was cut is finished by the next, and what drifted is repaired at every boot.

```json
{"format": 1, "role": "worker", "pool": "web", "os": "windows-2019",
 "registration": {"labels": "team=billing", "taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}]},
 "phases": [
   {"name": "system", "scope": "image", "steps": [
     {"kind": "feature", "name": "containers", "feature": "Containers"}, {"kind": "reboot", "name": "reboot"}]},
   {"name": "identity", "scope": "node", "steps": [
     {"kind": "hostname", "name": "hostname", "value": {"ref": "machine.name"}}]}]}
```

- `format`: an executor refuses any other (101). `os`: the executor of the other system refuses it (104).
- `registration`: labels and taints of the node. The control-plane agent reconciles them; they replace no machine.
- `egress`, optional: how the executor's own downloads leave: `{"proxy": {"http", "https", "no_proxy"}, "trusted_cas":
  [PEM, ...]}`. The metadata service, loopback and the services of the facts are always reached directly.
  A change concerns machines made from now on.
- `kubernetes`, optional: the version, for the machine's status record.
- `phases`: in order. A phase of scope `image` can be baked into an image, so its steps hold no reference and nothing
  that belongs to one machine or is secret; `node` phases can hold everything. `reports: registered`, optional: the
  state of the machine's status record once the phase is over; the last phase's word (default `ready`) is that of a
  finished run.
- Steps have a `kind`, a `name` that no other step of the plan has, and their kind's fields. Nothing else.

## What a change means

A change of a step replaces workers, unless its field (or kind, or the step itself) says otherwise: `agent`, the
control-plane agent reconciles it in the running cluster; `new_nodes`, machines made from now on take it. The replace
digest of a plan is made of what replaces; names of steps are not part of it.

## References

`{"ref": "machine.name"}` may stand for every text that is no choice, and anywhere in a document. The list is closed;
what nothing knows on the machine ends the run (103).

"""

CUTS = {
    Cut.BEFORE_SET: "the test said no; nothing is written yet",
    Cut.DURING_DOWNLOAD: "some bytes have come, others not",
    Cut.DURING_UNPACK: "some files of the archive are in the target, others not",
    Cut.BEFORE_RENAME: "the new file lies whole beside the target",
    Cut.HALF_SET: "the first of the places or programs that the kind needs is done, the next is not",
    Cut.AFTER_SET: "all is written; the step is neither tested again nor recorded",
}


def render() -> str:
    """The page, in Markdown."""
    parts = [HEADER + _table(("reference", "what it is"), ((f"`{name}`", text) for name, text in REFERENCES.items()))]
    parts.append("## Cut points\n\nPlaces where power can go. After each of them the next run makes the step true.\n")
    parts.append(_table(("cut point", "where"), ((f"`{cut.value}`", text) for cut, text in CUTS.items())))
    parts.append("## Fields of every kind\n")
    parts.append(_fields(TUNING, OnChange.NEW_NODES))
    parts.append("## Kinds\n")
    parts.append(_table(("kind", "system", "what it makes true"), (_row(*each) for each in KINDS.items())))
    parts += [_kind(name, kind) for name, kind in KINDS.items()]
    return "\n".join(parts).rstrip() + "\n"


def _row(name: str, kind: Kind) -> tuple[str, str, str]:
    return f"[{name}](#{name})", _systems(kind.systems), kind.meaning


def _kind(name: str, kind: Kind) -> str:
    facts = {
        "Compares": kind.compares,
        "Sets": kind.sets,
        "Takes away": kind.undo,
        "Can be cut": ", ".join(f"`{each.value}`" for each in kind.cuts) or "nowhere: it changes nothing",
        "Can be baked": "yes" if kind.image else "no",
        "One try takes at most": f"{kind.seconds} s",
        "On": _systems(kind.systems),
    }
    lines = [
        f"### {name}\n",
        f"{kind.meaning}\n",
        *(f"- {key}: {text.rstrip('.')}." for key, text in facts.items()),
        "",
    ]
    return "\n".join([*lines, _fields(kind.fields, kind.on_change)] if kind.fields else lines)


def _fields(fields: dict[str, Field], default: OnChange) -> str:
    rows = (
        (
            f"`{name}`"
            + ("" if field.required else " (optional)")
            + ("" if field.systems == BOTH else f", {_systems(field.systems)}"),
            _type(field.type),
            (field.on_change or default).value,
            field.meaning,
        )
        for name, field in fields.items()
    )
    return _table(("field", "type", "a change", "meaning"), rows)


def _systems(systems: tuple[str, ...]) -> str:
    return " and ".join(each.capitalize() for each in systems)


def _type(type_: Type) -> str:
    """A type in words."""
    if "enum" in type_:
        return " or ".join(f"`{each}`" for each in type_["enum"])
    name = type_.get("type", "any JSON")
    if name == "array" and isinstance(type_.get("items"), dict):
        return f"list of {_type(type_['items'])}"
    if name == "object" and type_.get("properties"):
        return "one of " + ", ".join(f"`{{{each}: ...}}`" for each in type_["properties"])
    limits = [f"{word} {type_[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in type_]
    return " ".join([_WORDS.get(name, name), *limits])


_WORDS: dict[str, str] = {"string": "text", "integer": "number", "boolean": "true or false", "object": "texts by name"}


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join([*lines, ""])
