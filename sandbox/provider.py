"""The sandbox's provider: calls of the Pulumi engine, answered from a cloud's tables and the cloud state.

Arguments and results are plain Python; sandbox/server.py speaks the engine's protocol.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sandbox import faults
from sandbox.checks import DEFAULTS, conditions, with_name
from sandbox.cloud import Cloud, Place, Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import SERVICES, CloudState, Record, now
from sandbox.difference import Difference, compare
from sandbox.running_calls import RunningCalls
from sandbox.shapes import Failure
from sandbox.values import REDACTED, UNKNOWN, Secret, plain, redacted, with_tags


class Provider:
    """One configured provider of one cloud, on one cloud state."""

    def __init__(self, cloud: Cloud, cloud_state: CloudState) -> None:
        self.cloud = cloud
        self.cloud_state, self.running = cloud_state, RunningCalls()
        self.place = Place(cloud.account, "")
        self.pause: Callable[[float], None] = time.sleep

    def configure(self, settings: dict[str, Any]) -> list[Failure]:
        """Set region, account and default tags; nested settings are JSON texts. Return failures."""
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
        """Return inputs with the automatic name, and their failures."""
        type = _type(urn)
        row = self.cloud.types.get(type)
        if row is None:
            return new, [Failure("", f"the sandbox has no type {type}; it has: {', '.join(self.cloud.types)}")]
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
        """Return how new inputs differ from old ones, and whether that replaces the resource."""
        row = self.cloud.types[_type(urn)]
        difference = compare(row, plain(old), plain(new))
        # As the real provider: a name set by the program cannot exist twice, so the old resource is deleted first.
        name = row.auto_name.property if row.auto_name else ""
        is_set = name in new and name not in new.get(DEFAULTS, [])
        fixed = is_set and (self.cloud.deletes_first or plain(new[name]) == plain(old.get(name)))
        return replace(difference, delete_first=bool(difference.replaces) and fixed)

    def create(self, urn: str, inputs: dict[str, Any], *, preview: bool) -> tuple[str, dict[str, Any]]:
        """Create a resource; return id and outputs. A preview returns an empty id, and UNKNOWN for computed outputs."""
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
        """Change a resource in place; return its outputs."""
        type = _type(urn)
        row = self.cloud.types[type]
        given = {name: value for name, value in inputs.items() if name != DEFAULTS}
        computed = {name: state[name] for name in self.cloud.shapes.outputs(type) if name in state}
        computed |= {name: state[name] for name in row.chosen if name in state and name not in given}
        if preview:
            changing = [*row.volatile, *(name for name in row.completed if name in given)]
            return self._outputs(type, given, computed | dict.fromkeys(changing, UNKNOWN))
        # an empty text is no choice: the API returns it for what a resource does not have
        chosen = {name: plain(state[name]) for name in row.chosen if state.get(name, "") != ""}
        request = Request(type, dict(row.fallback) | chosen | plain(inputs), self.cloud_state, self.place, 0, id)
        with self._call("update", urn, request):
            request.old = self.cloud_state.find(type, id)
            if request.old is None and not row.puts:
                raise Refusal("NotFound", f"{id} does not exist")
            request.sequence = request.old.sequence if request.old else self.cloud_state.next_sequence()
            self._accept(row, request)
            outputs = self._outputs(type, given, computed | self._computed(row, request))
            self._put(row, urn, request, given, outputs)
            if row.created:
                row.created(request)
        return outputs

    def delete(self, urn: str, id: str, state: dict[str, Any]) -> None:
        """Delete a resource; does nothing if it does not exist, unless its type has rules about that."""
        type = _type(urn)
        row = self.cloud.types[type]
        record = self.cloud_state.find(type, id)
        if record is None:
            if row.gone_rules:
                request = Request(type, plain(state), self.cloud_state, self.place, 0, id)
                with self._call("delete", urn, request):
                    for rule in row.gone_rules:
                        rule(request)
            return
        request = Request(type, plain(state), self.cloud_state, self.place, record.sequence, id, record)
        with self._call("delete", urn, request):
            referrers = self.cloud_state.referrers(type, id, "refuse")
            holders = [holder for holder in referrers if holder.sequence != record.sequence]
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
        """Return inputs and outputs of a resource, or None if it does not exist; files come from the engine's state."""
        record, row = self.cloud_state.find(_type(urn), id), self.cloud.types[_type(urn)]
        if record is None:
            if why := row.gone(self.cloud_state, id) if row.gone else None:
                raise Refusal(*why)
            return None
        known = state | (
            {name: Secret(value) for name, value in row.apart(self.cloud_state, record).items()} if row.apart else {}
        )
        later = row.shown(self.cloud_state, record) if row.shown else {}
        outputs = {
            name: known.get(name) if _withheld(value) else value for name, value in (record.outputs | later).items()
        }
        stored = record.inputs
        actual = {name: stored[name] if name in row.completed else outputs[name] for name in stored}
        actual = {
            name: inputs.get(name, _shown(value)) if _withheld(value) else value for name, value in actual.items()
        }
        actual |= {name: value for name, value in later.items() if state.get(name) != value}  # as the real provider
        return actual | {DEFAULTS: inputs.get(DEFAULTS, [])}, outputs

    def invoke(self, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a function of the provider; return its result."""
        functions = {**self.cloud.functions, **self.cloud.reads}
        if token not in functions:
            raise Refusal("UnknownFunction", f"the sandbox has no function {token}; it has: {', '.join(functions)}")
        values = plain(arguments)
        region = values.get("region") or self.place.region
        if region not in self.cloud.regions:
            raise Refusal("UnknownRegion", f"no region {region!r}; known: {', '.join(sorted(self.cloud.regions))}")
        place = replace(self.place, region=region)
        if token in self.cloud.reads:
            if self.cloud.settle:  # waiting machines may have become ready
                with self.cloud_state.transaction():
                    self.cloud.settle(self.cloud_state)
            return self.cloud.reads[token](self.cloud_state, place, values)
        return self.cloud.functions[token](place, values)

    def _accept(self, row: ResourceType, request: Request) -> None:
        """Make the checks of the cloud before it acts. Raises Refusal."""
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
        """Return computed outputs; add chosen and completed inputs to the request's, for links and claims."""
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
            added = {**tagging.outputs[name], **self.place.default_tags_of(given)}
            outputs[name] = with_tags(given.get(tagging.input), added)
        for name in row.secret:
            if outputs.get(name) is not None and not isinstance(outputs[name], Secret):
                outputs[name] = Secret(outputs[name])
        return outputs

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
        """Run one call in one transaction, and log it even if it is refused; a refusal changes nothing else."""
        failures = self.cloud.failures
        due = faults.due(self.cloud_state, request.type, failures)
        try:
            with self.running.alone(self.cloud.types[request.type], request):
                waited = faults.before(due, failures, self.pause)
                with self.cloud_state.transaction():
                    yield
                    if self.cloud.settle:
                        self.cloud.settle(self.cloud_state)
                    seconds = self.cloud.seconds(request.type, kind) + waited
                    self.cloud_state.log(kind, request.type, urn, request.id, seconds)
        except Refusal as refusal:
            with self.cloud_state.transaction():
                self.cloud_state.log(kind, request.type, urn, request.id, 0, str(refusal))
            raise
        faults.after(due, self.pause)


def _type(urn: str) -> str:
    """Return the resource's type; a URN has the parents' types before it, separated by $."""
    return urn.split("::")[2].rsplit("$", 1)[-1]


def _claims(row: ResourceType, request: Request) -> list[tuple[Unique, str]]:
    """Return the names that the resource claims; names with an absent part are not claimed."""
    claims = row.claims(request) if row.claims else []
    keyed = [(unique, unique.key(request)) for unique in row.unique]
    return claims + [(unique, key) for unique, key in keyed if key is not None]


def _shown(value: Any) -> Any:
    """Return the readable part of a value with secrets; None if the value is a secret or a file."""
    if isinstance(value, dict):
        if _unkept(value):
            return None
        return {name: _shown(item) for name, item in value.items() if item != REDACTED}
    return [_shown(item) for item in value] if isinstance(value, list) else value


def _withheld(value: Any) -> bool:
    """Return whether the cloud state stores a value only in part: it holds a secret, or the content of a file."""
    if isinstance(value, dict):
        return _unkept(value) or any(map(_withheld, value.values()))
    return isinstance(value, list) and any(map(_withheld, value))


def _unkept(value: dict[str, Any]) -> bool:
    """Return whether a value is a secret or a file, whose content the cloud state does not store."""
    return value == REDACTED or set(value) == {"asset"}
