"""Rows for what is wrong with the form of a stack: keys, types and values, before any check can run."""

from dataclasses import dataclass

from components.spec.report import Problem, Severity


@dataclass(frozen=True)
class Form:
    """One row: always an error. `wrong` and `fix` are templates."""

    id: str
    wrong: str
    fix: str
    requirements: tuple[str, ...] = ()

    def problem(self, path: str, **values: object) -> Problem:
        """The problem at a path, with the texts filled in."""
        return Problem(self.id, path, Severity.ERROR, self.wrong.format(**values), self.fix.format(**values))


ROWS = (
    Form("yaml-syntax", "{what}, line {line}", "correct the YAML at that line"),
    Form(
        "yaml-too-large",
        "with every YAML alias written out the file holds {count} values, more than {limit}",
        "remove the aliases (*name) that repeat whole blocks",
    ),
    Form("yaml-too-deep", "brackets or blocks are nested too deep to read", "remove the nesting; no option needs it"),
    Form("duplicate-key", "key {key!r} stands twice, line {line}", "keep one of them"),
    Form("unknown-config-key", "{key!r} is no key of Mullion", "write {nearest}; known keys: {known}"),
    Form(
        "cluster-missing", "the stack describes no cluster", "write mullion:cluster: with at least cloud and kubernetes"
    ),
    Form("region-missing", "no region is given", "write {key}: {example} in config:, beside mullion:cluster"),
    Form("region-form", "{value!r} is not the name of a region", "write a region such as {example}"),
    Form(
        "cluster-name",
        "the stack's name {value!r} cannot name a cluster: it becomes part of DNS names and of bucket names, which"
        " take lower-case letters, digits and hyphens and leave 26 characters",
        "name the stack with at most 26 lower-case letters, digits and hyphens, starting with a letter and not"
        " ending with a hyphen; nor with sg-, internal-, xn-- or sthree-, which AWS keeps for itself",
    ),
    Form(
        "secret-in-spec",
        "an encrypted value (secure:) stands in the spec, which is rendered into readable files",
        "store the secret in the cloud's secret store and refer to it by name",
    ),
    Form("key-unquoted", "the key {key!r} is not text", 'write it in quotes: "{text}"'),
    Form("nested-too-deep", "values are nested more than {limit} levels deep", "remove the nesting or the YAML alias"),
    Form("unknown-key", "{key!r} is not known here", "{fix}"),
    Form("missing-key", "{key!r} is missing", "add it, with {expected}"),
    Form("value-unquoted", "YAML reads {value} as a {kind}, not as text", "write {expected}"),
    Form("wrong-type", "{value} does not fit", "write {expected}"),
    Form("wrong-value", "{value} does not fit: {reason}", "write {expected}"),
    Form(
        "artifact-file-unreadable",
        "{value} cannot be read: {why}",
        "name a JSON file with a list of entries, from the folder of Pulumi.yaml on; `mullion pin` writes one",
    ),
    Form(
        "artifact-file-relative",
        "{value} is no absolute path, and there is no folder of Pulumi.yaml to start from",
        "write an absolute path, or the entries themselves into artifacts.entries",
    ),
    Form(
        "host-bits",
        "{value} has bits set beyond its prefix, so it names an address, not a range",
        "write {network}",
        ("IPP-05",),
    ),
    Form(
        "ipv6",
        "{value} is IPv6: Windows nodes need IPv4 pods, and dual-stack does not work with overlay",
        "write an IPv4 range or address",
        ("SVC-07",),
    ),
)

FORMS: dict[str, Form] = {row.id: row for row in ROWS}
