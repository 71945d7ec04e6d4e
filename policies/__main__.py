"""The plugin: hands the rules to the engine. Started by `pulumi ... --policy-pack policies`."""

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
            for wrong in rule.check(seen.resource(args)):
                report(wrong, None)

    return validate


def _of_stack(rule: StackRule) -> Callable[[StackValidationArgs, ReportViolation], None]:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        for resource, wrong in rule.violations([seen.resource(each) for each in args.resources]):
            report(f"{resource.name}: {wrong}", resource.urn)

    return validate


def policy(rule: ResourceRule | StackRule) -> Policy:
    """A rule as the engine knows it: broken, it ends the preview or update."""
    if isinstance(rule, ResourceRule):
        return ResourceValidationPolicy(rule.name, rule.says, _of_resource(rule), EnforcementLevel.MANDATORY)
    return StackValidationPolicy(rule.name, rule.says, _of_stack(rule), EnforcementLevel.MANDATORY)


if __name__ == "__main__":
    collect_rarely()
    PolicyPack("mullion", [policy(each) for each in RULES], EnforcementLevel.MANDATORY)
