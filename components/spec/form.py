"""Errors in the form of a stack: keys, types and values. They are found before the checks run."""

from dataclasses import dataclass

from components.spec.report import Problem, Severity


@dataclass(frozen=True)
class Form:
    """One error or warning about the form of a stack file; `wrong` and `fix` are templates."""

    id: str
    wrong: str
    fix: str
    requirements: tuple[str, ...] = ()
    severity: Severity = Severity.ERROR

    def problem(self, path: str, **values: object) -> Problem:
        """Return the problem at a path, with the values filled into both texts."""
        return Problem(self.id, path, self.severity, self.wrong.format(**values), self.fix.format(**values))


EXAMPLE_PROJECT = "project-example"
"""Id of the warning about the project of the example stacks, which `up` in a real account refuses."""

ROWS = (
    Form("yaml-syntax", "{what}, line {line}", "correct the YAML at that line"),
    Form(
        "yaml-too-large",
        "with its YAML aliases expanded the file has {count} values; the limit is {limit}",
        "remove aliases (*name) that repeat whole blocks",
    ),
    Form(
        "yaml-too-deep",
        "brackets or blocks are nested too deep for the YAML reader",
        "remove the nesting; no option needs it",
    ),
    Form("duplicate-key", "the key {key!r} is written twice, line {line}", "keep one of the two"),
    Form("unknown-config-key", "Mullion has no configuration key {key!r}", "write {nearest}; known keys: {known}"),
    Form(
        "stack-file-key",
        "a stack file may not have the key {key!r}: its content would reach the providers unchecked",
        "remove it; a stack file has config: and what Pulumi writes beside it ({known})",
    ),
    Form(
        "provider-redirected",
        "a stack file may not have {key}: such options can run a program on the computer that runs `up`, or send its"
        " credentials elsewhere",
        "remove it; set the provider's environment variable on that computer instead. Of {package}: a stack file may"
        " have {allowed}",
    ),
    Form(
        "cluster-missing", "the stack describes no cluster", "write mullion:cluster: with at least cloud and kubernetes"
    ),
    Form("region-missing", "the region is missing", "write {key}: {example} in config:, beside mullion:cluster"),
    Form(
        "region-of-another-cloud",
        "{value} is a region of {other}, but the cluster is on {cloud}",
        "write a region of {cloud} such as {example}",
    ),
    Form(
        "project-missing",
        "the project of Google Cloud is missing",
        "write {key}: and the id of your project in config:, beside mullion:cluster",
    ),
    Form(
        "project-number",
        "{value} is the number of a project: machines prove what they are with its id, so no worker could join",
        "write {key}: and the id, which `gcloud projects describe {value} --format 'value(projectId)'` prints",
    ),
    Form(
        EXAMPLE_PROJECT,
        "{value} is the project id of the example stacks, not yours",
        "write {key}: and the id of your project",
        severity=Severity.WARNING,
    ),
    Form("region-form", "{value} is not the name of a region of {cloud}", "write a region such as {example}"),
    Form(
        "cluster-name",
        "the stack's name {value!r} cannot name a cluster: DNS names and bucket names contain it",
        "name the stack with at most 26 lower-case letters, digits and hyphens; it begins with a letter, does not end"
        " with a hyphen, and does not begin with sg-, internal-, xn-- or sthree- (reserved by AWS)",
    ),
    Form(
        "cluster-name-on-gcp",
        "the stack's name {value!r} contains google or begins with goog, and Google refuses buckets of such names",
        "choose a name without google that does not begin with goog",
    ),
    Form(
        "secret-in-spec",
        "the value is encrypted (secure:), but values of the spec are written into files that are not secret",
        "remove it: no option takes a secret; keep secrets in the cloud's secret store",
    ),
    Form(
        "key-unquoted", "YAML reads the key {key} as a number, date, truth value or null", 'write it in quotes: "{key}"'
    ),
    Form(
        "nested-too-deep",
        "values are nested more than {limit} levels deep",
        "remove the nesting, or the YAML alias that contains itself",
    ),
    Form("unknown-key", "there is no option {key!r} here", "{fix}"),
    Form("missing-key", "the option {key!r} is missing", "add it: {expected}"),
    Form("value-unquoted", "YAML reads {value} as a {kind}, but this option takes text", "write {expected}"),
    Form("wrong-type", "{value} has the wrong type", "write {expected}"),
    Form("wrong-value", "{value} is not valid: {reason}", "write {expected}"),
    Form(
        "artifact-file-unreadable",
        "{value} cannot be read: {why}",
        "write the path of a JSON file with a list of entries, relative to Pulumi.yaml; `mullion pin` writes one",
    ),
    Form(
        "artifact-file-relative",
        "{value} is relative to Pulumi.yaml, but there is no Pulumi.yaml",
        "write an absolute path, or move the entries to artifacts.entries",
    ),
    Form(
        "host-bits",
        "{value} is an address, not a range: it has bits set after the prefix",
        "write {network}",
        ("IPP-05",),
    ),
    Form(
        "ipv6",
        "{value} is IPv6, but pods on Windows nodes need IPv4, and overlay supports no dual-stack",
        "write an IPv4 range or address",
        ("SVC-07",),
    ),
)

FORMS: dict[str, Form] = {row.id: row for row in ROWS}
