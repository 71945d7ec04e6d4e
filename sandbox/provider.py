"""A sandbox provider: what the Pulumi engine asks of a cloud, answered from its tables and the world.

Plain Python in and out; sandbox/server.py speaks the engine's protocol.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sandbox import faults
from sandbox.checks import DEFAULTS, conditions, with_name
from sandbox.cloud import Cloud, Place, Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import SERVICES, CloudState, Record, now
from sandbox.difference import Difference, compare
from sandbox.shapes import Failure
from sandbox.values import REDACTED, UNKNOWN, Secret, has_unknown, plain, redacted


class Provider:
    """One configured provider of one cloud, on one world."""

    def __init__(self, cloud: Cloud, cloud_state: CloudState) -> None:
        self.cloud = cloud
        self.cloud_state = cloud_state
        self.place = Place(cloud.account, "")
        self.pause: Callable[[float], None] = time.sleep

    def configure(self, settings: dict[str, Any]) -> list[Failure]:
        """Take region, account and default tags; nested settings come as JSON texts."""
        name = self.cloud.region
        region = plain(settings.get(name)) or ""
        if region not in self.cloud.regions and region is not UNKNOWN:
            return [Failure(name, f"unknown {name} {region!r}; known: {', '.join(sorted(self.cloud.regions))}")]
        tags: Any = plain(settings)
        for part in self.cloud.tagging.default:
            tags = tags.get(part) or {}
            tags = json.loads(tags) if isinstance(tags, str) else tags
        account = plain(settings.get(self.cloud.project)) or self.cloud.account
        tags = tags if self.cloud.tagging.default else {}
        self.place = Place(account, region, tags, self.cloud_state.setting(SERVICES) or "")
        return []

    def check(
        self, urn: str, old: dict[str, Any], new: dict[str, Any], seed: bytes
    ) -> tuple[dict[str, Any], list[Failure]]:
        """Inputs with the automatic name, and what is wrong with them."""
        type = _type(urn)
        row = self.cloud.types.get(type)
        if row is None:
            return new, [Failure("", f"{type} is not in the sandbox; its types are: {', '.join(self.cloud.types)}")]
        inputs = {name: value for name, value in new.items() if name != DEFAULTS and value is not None}
        failures = self.cloud.shapes.check(type, inputs)
        named, unnamed = with_name(row, urn, old, inputs, seed)
        return named, [*failures, *unnamed] or list(self._conditions(row, plain(named)))

    def _conditions(self, row: ResourceType, inputs: dict[str, Any]) -> Iterator[Failure]:
        yield from conditions(row, inputs)
        tags = inputs.get(self.cloud.tagging.input)
        if isinstance(tags, dict):
            yield from self.cloud.tagging.check(tags)

    def diff(self, urn: str, old: dict[str, Any], new: dict[str, Any]) -> Difference:
        """How new inputs differ from old ones, and whether that replaces the resource."""
        row = self.cloud.types[_type(urn)]
        difference = compare(row, plain(old), plain(new))
        # As the real provider does: a name that the program gives cannot exist twice, so the old one goes first.
        name = row.auto_name.property if row.auto_name else ""
        given = name in new and name not in new.get(DEFAULTS, [])
        fixed = given and (self.cloud.deletes_first or plain(new[name]) == plain(old.get(name)))
        return replace(difference, delete_first=bool(difference.replaces) and fixed)

    def create(self, urn: str, inputs: dict[str, Any], *, preview: bool) -> tuple[str, dict[str, Any]]:
        """Id and outputs; under preview an empty id, and UNKNOWN for what the cloud would decide."""
        type = _type(urn)
        row = self.cloud.types[type]
        given = {name: value for name, value in inputs.items() if name != DEFAULTS}
        if preview:
            unknown = [*self.cloud.shapes.outputs(type), *(name for name in row.chosen if name not in given)]
            unknown += [name for name in row.completed if name in given]
            return "", self._outputs(type, given, dict.fromkeys(unknown, UNKNOWN))
        request = Request(type, plain(inputs), self.cloud_state, self.place, 0)
        with self._call("create", urn, request):
            request.sequence = self.cloud_state.next_sequence()
            request.inputs = dict(row.fallback) | request.inputs
            self._accept(row, request)
            request.id = row.id(request) if callable(row.id) else request.format(row.id)
            outputs = self._outputs(type, given, self._computed(row, request))
            self._put(row, urn, request, given, outputs)
            if row.created:
                row.created(request)
        return request.id, outputs

    def update(
        self, urn: str, id: str, state: dict[str, Any], inputs: dict[str, Any], *, preview: bool
    ) -> dict[str, Any]:
        """Outputs after changing a resource in place."""
        type = _type(urn)
        row = self.cloud.types[type]
        given = {name: value for name, value in inputs.items() if name != DEFAULTS}
        computed = {name: state[name] for name in self.cloud.shapes.outputs(type) if name in state}
        computed |= {name: state[name] for name in row.chosen if name in state and name not in given}
        if preview:
            changing = [*row.volatile, *(name for name in row.completed if name in given)]
            return self._outputs(type, given, computed | dict.fromkeys(changing, UNKNOWN))
        chosen = {name: plain(state[name]) for name in row.chosen if name in state}
        request = Request(type, dict(row.fallback) | chosen | plain(inputs), self.cloud_state, self.place, 0, id)
        with self._call("update", urn, request):
            request.old = self.cloud_state.find(type, id)
            if request.old is None:
                raise Refusal("NotFound", f"{id} does not exist")
            request.sequence = request.old.sequence
            self._accept(row, request)
            outputs = self._outputs(type, given, computed | self._computed(row, request))
            self._put(row, urn, request, given, outputs)
            if row.created:
                row.created(request)
        return outputs

    def delete(self, urn: str, id: str, state: dict[str, Any]) -> None:
        """Take a resource away; one that is gone already is no error."""
        type = _type(urn)
        row = self.cloud.types[type]
        record = self.cloud_state.find(type, id)
        if record is None:
            return
        request = Request(type, plain(state), self.cloud_state, self.place, record.sequence, id, record)
        with self._call("delete", urn, request):
            holders = [one for one in self.cloud_state.referrers(type, id, "refuse") if one.sequence != record.sequence]
            if holders:
                code, message = row.in_use
                raise Refusal(code, message.format(id=id, holder=holders[0].id))
            for rule in row.delete_rules:
                rule(request)
            for dependent in self.cloud_state.referrers(type, id, "vanish"):
                self.cloud_state.remove(dependent.sequence)
            self.cloud_state.remove(record.sequence)
            if row.deleted:
                row.deleted(request)

    def read(
        self, urn: str, id: str, state: dict[str, Any], inputs: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Inputs and outputs as the world has them, or None where it is gone; files come from the state."""
        record = self.cloud_state.find(_type(urn), id)
        if record is None:
            return None
        row = self.cloud.types[record.type]
        known = state | (
            {name: Secret(value) for name, value in row.apart(self.cloud_state, record).items()} if row.apart else {}
        )
        outputs = {name: known.get(name) if _withheld(value) else value for name, value in record.outputs.items()}
        asked = record.inputs
        given = {name: asked[name] if name in row.completed else outputs[name] for name in asked}
        given = {name: inputs.get(name, _shown(value)) if _withheld(value) else value for name, value in given.items()}
        return given | {DEFAULTS: inputs.get(DEFAULTS, [])}, outputs

    def invoke(self, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of one of the provider's functions."""
        known = {**self.cloud.functions, **self.cloud.reads}
        if token not in known:
            raise Refusal("UnknownFunction", f"{token} is not in the sandbox; it has {', '.join(known)}")
        values = plain(arguments)
        region = values.get("region") or self.place.region
        if region not in self.cloud.regions:
            raise Refusal("UnknownRegion", f"no region {region!r}; known: {', '.join(sorted(self.cloud.regions))}")
        place = replace(self.place, region=region)
        if token in self.cloud.reads:
            if self.cloud.settle:  # what was waited for may have come meanwhile
                with self.cloud_state.transaction():
                    self.cloud.settle(self.cloud_state)
            return self.cloud.reads[token](self.cloud_state, place, values)
        return self.cloud.functions[token](place, values)

    def _accept(self, row: ResourceType, request: Request) -> None:
        """Everything the cloud checks before it acts; raises Refusal."""
        for reference in row.references:
            for id in reference.ids(request):
                if self.cloud_state.find(reference.target, id) is None:
                    raise Refusal(reference.code, reference.message.format(id=id, path=reference.path))
        for rule in row.rules:
            rule(request)
        for unique, key in _claims(row, request):
            owner, until = self.cloud_state.claim(unique.kind, key) or (request.sequence, None)
            if until is not None:
                raise Refusal(*unique.kept)
            if owner != request.sequence:
                raise Refusal(unique.code, request.format(unique.message))

    def _computed(self, row: ResourceType, request: Request) -> dict[str, Any]:
        """Computed outputs; what the cloud chose or completed counts as input from here on, for links and claims."""
        computed = {name: request.format(template) for name, template in row.outputs.items()}
        computed |= row.derive(request) if row.derive else {}
        chosen = {name: computed[name] for name in row.chosen if name in computed}
        completed = {name: computed[name] for name in row.completed if name in computed}
        request.inputs = chosen | request.inputs | completed
        return computed

    def _outputs(self, type: str, given: dict[str, Any], computed: dict[str, Any]) -> dict[str, Any]:
        row = self.cloud.types[type]
        completed = {name: computed[name] for name in row.completed if name in computed}
        outputs = dict(row.fallback) | computed | given | completed
        tagging = self.cloud.tagging
        for name in {*tagging.outputs} & {*self.cloud.shapes.outputs(type)}:
            outputs[name] = self._all_tags(given.get(tagging.input), tagging.outputs[name])
        for name in row.secret:
            if outputs.get(name) is not None and not isinstance(outputs[name], Secret):
                outputs[name] = Secret(outputs[name])
        return outputs

    def _all_tags(self, tags: Any, added: Mapping[str, str]) -> Any:
        """Tags with the default ones and the provider's own; what is secret stays so."""
        if has_unknown(tags):
            return UNKNOWN
        if isinstance(tags, Secret):
            return Secret(self._all_tags(tags.value, added))
        return dict(added) | dict(self.place.default_tags) | (tags or {})

    def _put(
        self, row: ResourceType, urn: str, request: Request, given: dict[str, Any], outputs: dict[str, Any]
    ) -> None:
        marked = {name: Secret(value) if name in row.secret else value for name, value in given.items()}
        created = request.old.created if request.old else now()
        name = urn.rsplit("::", 1)[-1]
        inputs, results = redacted(marked), redacted(outputs)
        self.cloud_state.put(
            Record(request.sequence, request.type, request.id, name, urn, request.region, inputs, results, created)
        )
        links = [
            (reference.path, reference.target, id, reference.holds)
            for reference in row.references
            for id in reference.ids(request)
        ]
        self.cloud_state.link(request.sequence, links)
        self.cloud_state.set_claims(request.sequence, [(unique.kind, key) for unique, key in _claims(row, request)])

    @contextmanager
    def _call(self, kind: str, urn: str, request: Request) -> Iterator[None]:
        """One call in one transaction, logged either way; a refusal changes nothing."""
        failures = self.cloud.failures
        due = faults.due(self.cloud_state, request.type, failures)
        try:
            waited = faults.before(due, failures, self.pause)
            with self.cloud_state.transaction():
                yield
                if self.cloud.settle:
                    self.cloud.settle(self.cloud_state)
                self.cloud_state.log(
                    kind, request.type, urn, request.id, self.cloud.seconds(request.type, kind) + waited
                )
        except Refusal as refusal:
            with self.cloud_state.transaction():
                self.cloud_state.log(kind, request.type, urn, request.id, 0, str(refusal))
            raise
        faults.after(due, self.pause)


def _type(urn: str) -> str:
    """The resource's own type; a URN's type has its parents' types before it, with $ between."""
    return urn.split("::")[2].rsplit("$", 1)[-1]


def _claims(row: ResourceType, request: Request) -> list[tuple[Unique, str]]:
    """The names that the resource takes; one with an absent part is not taken."""
    claims = row.claims(request) if row.claims else []
    keyed = [(unique, unique.key(request)) for unique in row.unique]
    return claims + [(unique, key) for unique, key in keyed if key is not None]


def _shown(value: Any) -> Any:
    """What a cloud shows of a value with secrets in it; None where all of it is one, or a file."""
    if isinstance(value, dict):
        if _unkept(value):
            return None
        return {name: _shown(each) for name, each in value.items() if each != REDACTED}
    return [_shown(each) for each in value] if isinstance(value, list) else value


def _withheld(value: Any) -> bool:
    """Whether the world keeps a value only in part: a secret in it, or the content of a file."""
    if isinstance(value, dict):
        return _unkept(value) or any(map(_withheld, value.values()))
    return isinstance(value, list) and any(map(_withheld, value))


def _unkept(value: dict[str, Any]) -> bool:
    """Whether a value is a secret, or a file, of which the world keeps no content."""
    return value == REDACTED or set(value) == {"asset"}
