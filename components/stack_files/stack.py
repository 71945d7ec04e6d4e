"""Reading a stack, for the Pulumi program and for the command."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from components.catalogue import regions
from components.checks import TO_ACKNOWLEDGE, UNREADY, examine
from components.checks.api import EXAMPLE_RANGE
from components.checks.check import Path, Subject
from components.clouds import CLOUDS
from components.spec.form import EXAMPLE_PROJECT, FORMS
from components.spec.models import ClusterSpec
from components.spec.report import Problem, Severity, SpecError
from components.spec.wording import nearest, shown
from components.stack_files import repair
from components.stack_files.artifact_file import with_file
from components.stack_files.stack_file import stack_file_config

__all__ = ["CLUSTER", "TARGET", "Stack", "read_stack", "refuse_unready", "stack_file_config"]

CLUSTER, TARGET = "mullion:cluster", "mullion:world"
"""Keys of the spec, and of the target that the stack belongs to: the sandbox or an account."""

PROJECT = "gcp:project"
"""The provider's key of the project that a cluster on Google Cloud is built in."""

EXAMPLE = "example-project"
"""Project that the stacks of this repository and `mullion new` name."""

EXAMPLES = frozenset({EXAMPLE_RANGE, EXAMPLE_PROJECT})
"""Ids of warnings about values of examples, which stop `mullion up` in an account."""

MISSING = frozenset({"region-missing", "project-missing"})
"""Ids of problems that only a stack file has: in a program the provider may know the region and the project."""

_NAME = re.compile(r"(?!sg-|internal-|xn--|sthree-)[a-z]([a-z0-9-]{0,24}[a-z0-9])?")
"""Form of a stack's name. AWS refuses security groups called sg-..., load balancers internal-..., buckets xn--... and
sthree-..."""


@dataclass(frozen=True)
class Stack:
    """A stack without errors: its name, region and complete spec, with its warnings."""

    name: str
    region: str
    spec: ClusterSpec
    warnings: tuple[Problem, ...]


def read_stack(name: str, config: Mapping[str, Any], *, region_needed: bool = True) -> Stack:
    """Read and check a stack. Raises SpecError with all its problems.

    config: full keys -> values: {"aws:region": ..., "mullion:cluster": {...}}.
    region_needed: False for a program, whose provider may know region and project: without a region it gets the region
    "", and no check that reads the region runs.
    """
    document = config.get(CLUSTER)
    problems = [*_unknown_keys(config), *_redirected(config)]
    if document is None:
        raise SpecError(name, [*problems, FORMS["cluster-missing"].problem(CLUSTER)])
    if not isinstance(document, Mapping):
        wrong = FORMS["wrong-type"].problem(CLUSTER, value=shown(document), expected="keys and values: {key: value}")
        raise SpecError(name, [*problems, wrong])
    whole, wrong_entries = with_file(cast(Mapping[str, Any], document))
    problems += wrong_entries
    reading = repair.read(whole)
    outside: set[Path] = set()
    if not _NAME.fullmatch(name):
        problems.append(FORMS["cluster-name"].problem("stack name", value=name))
        outside.add(("name",))
    elif reading.spec.cloud.value == "gcp" and ("google" in name or name.startswith("goog")):
        problems.append(FORMS["cluster-name-on-gcp"].problem("stack name", value=name))
    region, wrong = _region(reading.spec.cloud.value, config)
    if not region:
        outside.add(("region",))
    if ("cloud",) not in reading.broken:
        problems += [problem for problem in wrong if region_needed or problem.id not in MISSING]
    subject = Subject(name, region, reading.spec)
    problems += [*reading.problems, *examine(subject, reading.broken | outside)]
    if any(each.severity is Severity.ERROR for each in problems):
        raise SpecError(name, problems)
    return Stack(name, region, reading.spec, tuple(problems))


def refuse_unready(stack: Stack, stops: frozenset[str] = UNREADY) -> None:
    """Raise SpecError for warnings that stop `up`. stops: ids of those that stop it also if they are acknowledged."""
    if warnings := [
        warning
        for warning in stack.warnings
        if warning.id in stops or (warning.id in TO_ACKNOWLEDGE and warning.acknowledged is None)
    ]:
        raise SpecError(stack.name, [replace(warning, severity=Severity.ERROR) for warning in warnings])


def _region(cloud: str, config: Mapping[str, Any]) -> tuple[str, list[Problem]]:
    """Return the region, "" where it is missing or wrong, and what is wrong with it or with the project."""
    facts = CLOUDS[cloud]
    key, example = facts.region_key, facts.region_example
    region, problems = config.get(key), list[Problem]()
    if cloud == "gcp" and not config.get(PROJECT):
        problems.append(FORMS["project-missing"].problem(PROJECT, key=PROJECT))
    if cloud == "gcp" and config.get(PROJECT) == EXAMPLE:
        problems.append(FORMS[EXAMPLE_PROJECT].problem(PROJECT, key=PROJECT, value=EXAMPLE))
    if cloud == "gcp" and str(config.get(PROJECT)).isdecimal():
        problems.append(FORMS["project-number"].problem(PROJECT, key=PROJECT, value=config[PROJECT]))
    if region is None or region == "":
        return "", [*problems, FORMS["region-missing"].problem(key, key=key, example=example)]
    if not isinstance(region, str) or not facts.region_form.fullmatch(region):
        other = regions.cloud_of(str(region))
        row = FORMS["region-of-another-cloud" if other else "region-form"]
        return "", [*problems, row.problem(key, value=shown(region), cloud=cloud, other=other, example=example)]
    return region, problems


PROVIDER_SETTINGS = {
    "aws": "allowedAccountIds defaultTags forbiddenAccountIds ignoreTags maxRetries profile region retryMode"
    " skipRegionValidation useDualstackEndpoint useFipsEndpoint",
    "azure-native": "disablePulumiPartnerId location subscriptionId tenantId",
    "gcp": "addPulumiAttributionLabel defaultLabels disableGlobalProjectWarning project"
    " pulumiAttributionLabelAdditionStrategy region requestTimeout zone",
}
"""Provider options that a stack file may have, by package. Others (config/vars.py of pulumi_aws, pulumi_gcp and
pulumi_azure_native) name servers, authorities, files, roles or credentials: a file may name a program to run
(credential_process, executable-sourced credentials)."""


def _redirected(config: Mapping[str, Any]) -> list[Problem]:
    """Return problems of provider options by which a stack file could run programs or take credentials elsewhere.

    Pulumi reads `aws:config:region` like `aws:region`; only the second form is accepted.
    """
    found = list[Problem]()
    for key in config:
        package, _, name = key.partition(":")
        allowed = PROVIDER_SETTINGS.get(package)
        if allowed and name not in allowed.split():
            listed = ", ".join(allowed.split())
            found.append(FORMS["provider-redirected"].problem(key, key=key, package=package, allowed=listed))
    return found


def _unknown_keys(config: Mapping[str, Any]) -> list[Problem]:
    """Return problems of keys of Mullion that do not exist, and of keys without a provider, which Pulumi refuses."""
    keys = [CLUSTER, TARGET]
    unknown = [key for key in config if (key.startswith("mullion:") or ":" not in key) and key not in keys]
    return [
        FORMS["unknown-config-key"].problem(
            key, key=key, nearest=nearest(key.split(":")[-1], keys) or CLUSTER, known=" and ".join(keys)
        )
        for key in unknown
    ]
