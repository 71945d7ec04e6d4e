"""Render docs/lint.md: every rule with its examples."""

from components.lint import RULES, TABLES
from components.lint.rule import Context, Level, Rule

HEADER = """# Rules for manifests

Written by `make generate` from the tables in `components/lint/`.

`mullion lint FILE...` judges manifests by these rules ([commands](cli.md#looking-offline)): Windows pods, and pods that
name no operating system. Pods that select Linux are never judged. A Windows pod has `os.name`, a node selector or
required affinity for Windows, or a RuntimeClass such as windows-2022; or it names no operating system and has a Windows
image or `windowsOptions`.

- **error**: the workload does not run, or does not do what its manifest says.
- **warning**: a part of the manifest has no effect, or fails under conditions that the manifest does not show.
- **note**: advice.

From Kubernetes 1.30 on clusters apply the rules that one object shows
([control plane](control-plane.md#workloads-that-windows-cannot-run)).

To ignore a rule for one object, write its id into the annotation `mullion.dev/lint-ignore` of the object or its pod
template (several ids with commas between them); for a whole run, `--ignore RULE`.

Examples show the fields that matter: of a pod's spec, or of the objects that a rule compares.

**False alarms.** Findings of level error or warning in workloads that run unchanged in a cluster with Mullion's default
taints: 7 in 23 workloads of 14 charts, and 1 with `--stack`. `tests/components/lint/charts/` has these manifests,
written in the manner of well-known charts.
"""


def render() -> str:
    """Return the page, in Markdown."""
    counts = [f"{sum(rule.level is level for rule in RULES)} {level.value}s" for level in Level]
    parts = [HEADER, f"{len(RULES)} rules: {', '.join(counts)}.\n"]
    for title, rules in TABLES.items():
        parts.append(f"## {title}\n")
        parts += [_rule(rule) for rule in rules]
    return "\n".join(parts)


def _rule(rule: Rule) -> str:
    needs = rule.cluster and (rule.condition is None or rule.applies(Context()) is None)
    stack = " Only with `--stack`." if needs else ""
    return (
        f"### {rule.id}\n\n"
        f"{', '.join(filter(None, (rule.level.value, rule.requirements)))}: {rule.what}. {rule.why}{stack}\n\n"
        f"Judges {rule.scope.value}. In the cluster: {_JUDGES.get(rule.judge, f'nobody, because {rule.judge}')}. "
        f"Fix: {rule.fix}. [Source]({rule.source})\n\n"
        f"```yaml\n# accepted\n{rule.accepted}\n# refused\n{rule.refused}\n```\n"
    )


_JUDGES = {"policy": "an admission policy", "api": "the API server itself", "gmsa": "the policy mullion-gmsa"}
