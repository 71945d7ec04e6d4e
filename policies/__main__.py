"""The plugin that gives the rules to the engine. `pulumi ... --policy-pack policies` starts it."""

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)

from components.sdk.garbage import collect_rarely
from policies import seen
from policies.rules import RULES
from policies.rules.rule import ResourceRule, StackRule


def _of_resource(rule: ResourceRule) -> Callable[[ResourceValidationArgs, ReportViolation], None]:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        if args.resource_type in rule.types:
            for violation in rule.check(seen.resource(args)):
                report(violation, None)

    return validate


def _of_stack(rule: StackRule) -> Callable[[StackValidationArgs, ReportViolation], None]:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        resources = [seen.resource(described) for described in args.resources]
        for resource, violation in rule.violations(resources):
            report(f"{resource.name}: {violation}", resource.urn)

    return validate


def policy(rule: ResourceRule | StackRule) -> Policy:
    """Return a rule as a policy of the engine; a violation stops the preview or update."""
    if isinstance(rule, ResourceRule):
        return ResourceValidationPolicy(rule.name, rule.says, _of_resource(rule), EnforcementLevel.MANDATORY)
    return StackValidationPolicy(rule.name, rule.says, _of_stack(rule), EnforcementLevel.MANDATORY)


if __name__ == "__main__":
    collect_rarely()
    PolicyPack("mullion", [policy(rule) for rule in RULES], EnforcementLevel.MANDATORY)
