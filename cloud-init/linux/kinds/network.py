"""The host's firewall."""

from run import Run, Step

AT_ONCE = 7
"""Ports and ranges of one rule: iptables' multiport takes 15, a range counts twice."""


def rules(step: Step) -> list[list[str]]:
    """Iptables' words for the step: one rule for each source and so many ports."""
    ports = [each.replace("-", ":") for each in step["ports"]]
    parts = [",".join(ports[place : place + AT_ONCE]) for place in range(0, len(ports), AT_ONCE)]
    comment = ["-m", "comment", "--comment", step["rule"], "-j", "ACCEPT"]
    return [
        [*(["-s", source] if source else []), "-p", step["protocol"], "-m", "multiport", "--dports", part, *comment]
        for source in step.get("sources") or [None]
        for part in parts
    ]


def missing(run: Run, step: Step) -> list[list[str]]:
    """Rules that are not in the INPUT chain."""
    return [rule for rule in rules(step) if run.command("iptables", "-w", "-C", "INPUT", *rule, check=False).returncode]


def rule_holds(run: Run, step: Step) -> bool:
    """Every rule is there."""
    return not missing(run, step)


def make_rule(run: Run, step: Step) -> None:
    """Adds what is missing, before anything that could refuse."""
    for rule in missing(run, step):
        run.command("iptables", "-w", "-I", "INPUT", "1", *rule)
