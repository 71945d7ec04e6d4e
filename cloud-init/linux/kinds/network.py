"""The host's firewall."""

from run import Run, Step

AT_ONCE = 7
"""Ports and ranges in one rule: iptables' multiport takes 15, and a range counts as two."""


def rules(step: Step) -> list[list[str]]:
    """Return iptables' arguments for the step: one rule per source and AT_ONCE ports."""
    ports = [each.replace("-", ":") for each in step["ports"]]
    parts = [",".join(ports[place : place + AT_ONCE]) for place in range(0, len(ports), AT_ONCE)]
    comment = ["-m", "comment", "--comment", step["rule"], "-j", "ACCEPT"]
    return [
        [*(["-s", source] if source else []), "-p", step["protocol"], "-m", "multiport", "--dports", part, *comment]
        for source in step.get("sources") or [None]
        for part in parts
    ]


def missing(run: Run, step: Step) -> list[list[str]]:
    """Return the rules that the INPUT chain does not have."""
    return [rule for rule in rules(step) if run.command("iptables", "-w", "-C", "INPUT", *rule, check=False).returncode]


def rule_holds(run: Run, step: Step) -> bool:
    """Return whether the INPUT chain has every rule."""
    return not missing(run, step)


def make_rule(run: Run, step: Step) -> None:
    """Insert the missing rules at the head of the chain, before rules that could reject."""
    for rule in missing(run, step):
        run.command("iptables", "-w", "-I", "INPUT", "1", *rule)
