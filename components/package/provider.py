"""ClusterPackage: serves MixedCluster and the package's functions to Pulumi."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pulumi import Inputs, ResourceOptions
from pulumi.errors import InputPropertiesError, InputPropertyError
from pulumi.provider.experimental.analyzer import PropertyDefinition
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.provider import CheckFailure, ConstructResult, InvokeResult
from pulumi.provider.server import ComponentInitError

from components.cluster import MixedCluster
from components.package.functions import BY_TOKEN, Wrong
from components.package.schema import as_input, completed
from components.spec.report import Severity, SpecError
from components.spec.wording import nearest
from components.version import VERSION


class ClusterPackage(ComponentProvider):
    """The package `mullion`. Pulumi's host of components has no functions, so `invoke` is ours."""

    def __init__(self) -> None:
        super().__init__([MixedCluster], "mullion", version=VERSION)
        self.schema = json.dumps(completed(json.loads(self.schema or "")))

    def construct(
        self, name: str, resource_type: str, inputs: Inputs, options: ResourceOptions | None = None
    ) -> ConstructResult:
        """Return the built cluster. Raises InputPropertiesError with every wrong input, its path and its remedy.

        All errors are in one text: if they had separate paths, the engine would print the values, which may be secret.
        """
        try:
            return super().construct(name, resource_type, inputs, options)
        except ComponentInitError as error:
            if isinstance(error.inner, SpecError):
                raise InputPropertiesError(as_inputs(error.inner), []) from None  # the SDK fails without a list
            raise

    def invoke(self, token: str, args: Mapping[str, Any]) -> InvokeResult:
        """Return the result of a function, or as failures everything that is wrong with its arguments."""
        if token not in BY_TOKEN:
            return _failed([("", f"there is no function {token}; there are {', '.join(BY_TOKEN)}")])
        try:
            return InvokeResult(BY_TOKEN[token](self._named(args)))
        except SpecError as error:
            wrong = [each for each in error.problems if each.severity is Severity.ERROR]
            return _failed(
                [(f"cluster.{as_input(each.path)}", f"{each.wrong} [{each.id}]. {each.fix}") for each in wrong]
            )
        except Wrong as error:
            return _failed([(error.path, error.reason)])
        except InputPropertyError as error:
            return _failed([(f"cluster.{error.property_path}", error.reason)])

    def map_input_properties(
        self,
        inputs: Inputs,
        properties: dict[str, PropertyDefinition],
        mapping: dict[str, str],
        component_name: str,
        property_path: str,
    ) -> Inputs:
        """Return inputs with Python names. Raises InputPropertyError for unknown ones, which Pulumi would drop."""
        for name in inputs:
            if name not in properties:
                path = f"{property_path}.{name}" if property_path else name
                near = nearest(name, list(properties))
                meant = f"did you mean {near}? " if near else ""
                raise InputPropertyError(path, f"there is no such input; {meant}There are {', '.join(properties)}")
        return super().map_input_properties(inputs, properties, mapping, component_name, property_path)

    def _named(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with the options of `cluster` named as in a stack file."""
        if "cluster" not in args:
            return dict(args)
        return {**args, "cluster": self.map_inputs(args["cluster"], self._component_defs["MixedCluster"])}


def as_inputs(error: SpecError) -> str:
    """Return the message of the error with the paths of inputs, as programs in other languages write them."""
    problems = [replace(each, path=as_input(each.path)) for each in error.problems]
    return str(SpecError(error.source, problems))


def _failed(failures: list[tuple[str, str]]) -> InvokeResult:
    return InvokeResult({}, [CheckFailure(path, reason) for path, reason in failures])
