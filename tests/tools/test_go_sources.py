"""Names that tools/go_sources.py finds in Go sources."""

from pathlib import Path

import pytest

from tools import go_sources

GATES = """
const (
	// StaysOpen is a gate.
	StaysOpen featuregate.Feature = "StaysOpen"
	Locks featuregate.Feature = "Locks"
	LocksLater featuregate.Feature = "LocksLater"
	Unregistered featuregate.Feature = "Unregistered"
)

var gates = map[featuregate.Feature]featuregate.VersionedSpecs{
	StaysOpen: {
		{Version: version.MustParse("1.30"), Default: true, PreRelease: featuregate.GA}, // LockToDefault: true in 1.39
	},

	generic.Locks: {
		{Version: version.MustParse("1.30"), Default: true, PreRelease: featuregate.Beta},
		{Version: version.MustParse("1.36"), Default: false, PreRelease: featuregate.Deprecated, LockToDefault: true},
	},
	LocksLater: {
		{Version: version.MustParse("1.30"), Default: true, PreRelease: featuregate.Beta},
		{Version: version.MustParse("1.38"), Default: true, PreRelease: featuregate.GA, LockToDefault: true},
	},
}

var dependencies = map[featuregate.Feature][]featuregate.Feature{
	Locks: {StaysOpen},
}
"""

FLAGS = """
const issuerFlag = "oidc-issuer-url"

func (o *Options) AddFlags(fs *pflag.FlagSet) {
	// fs.StringVar(&o.Old, "commented-out", o.Old, "text")
	fs.StringVar(&o.Address, "bind-address", o.Address, "The address, see \\"other-flag\\".")
	fs.Var(cliflag.NewMapStringBool(&o.Gates), "feature-gates", "Gates: "+
		"one a line")
	fs.StringVarP(&o.Level, "v", "v", o.Level, "level")
	fs.StringVar(&o.Issuer, issuerFlag, o.Issuer, "issuer")
	fs.StringVar(&o.Mode, fmt.Sprintf("audit-%s-mode", name), o.Mode, "mode")
	fs.Int32Var(&o.Syncs, "concurrent_rc_syncs", o.Syncs, "syncs")
	fs.MarkDeprecated("deprecated-elsewhere", "text")
}
"""

TYPES = """
type Mode string

type Settings struct {
	metav1.TypeMeta `json:",inline"`
	Shared `json:""`
	// Enabled says something.
	Enabled *bool `json:"enabled,omitempty"`
	Mode Mode `json:"mode,omitempty"`
	Period metav1.Duration `json:"period,omitempty"`
	Names []string `json:"names,omitempty"`
	Rows []Row `json:"rows,omitempty"`
	Reserved map[string]string `json:"reserved,omitempty"`
	Deep *other.Deep `json:"deep"`
	Hidden string `json:"-"`
}

type Shared struct {
	Count int32 `json:"count"`
}

type Deep struct {
	Ratio float64 `json:"ratio,omitempty"`
}
"""


@pytest.mark.parametrize(
    ("minor", "locks"),
    [
        ("1.35", {"StaysOpen": None, "Locks": None, "LocksLater": None}),
        ("1.37", {"StaysOpen": None, "Locks": False, "LocksLater": None}),
        ("1.38", {"StaysOpen": None, "Locks": False, "LocksLater": True}),
    ],
)
def test_gates_are_those_registered_with_their_lock_in_the_minor(minor: str, locks: dict[str, bool | None]) -> None:
    found = go_sources.gates(GATES, go_sources.constants(GATES), minor)
    assert {gate.name: gate.locked for gate in found} == locks


def test_flags_are_those_that_are_defined_under_literals_constants_and_formats() -> None:
    assert go_sources.flags(FLAGS, ("log", "webhook")) == {
        *("bind-address", "feature-gates", "v", "oidc-issuer-url", "audit-log-mode", "audit-webhook-mode"),
        *("concurrent_rc_syncs", "concurrent-rc-syncs"),
    }


def test_fields_of_embedded_and_nested_structs_are_found_with_the_types_of_the_tables() -> None:
    assert go_sources.fields(TYPES, "Settings") == {
        "count": "count",
        "enabled": "bool",
        "mode": "text",
        "period": "duration",
        "names": "texts",
        "rows": "list",
        "reserved": "text-map",
        "deep": "object",
        "deep.ratio": "number",
    }


def test_sources_leave_out_tests_and_if_asked_files_of_windows(tmp_path: Path) -> None:
    for name in ("flags.go", "flags_test.go", "flags_windows.go", "README.md"):
        (tmp_path / name).write_text(name)
    assert go_sources.sources(tmp_path).split() == ["flags.go", "flags_windows.go"]
    assert go_sources.sources(tmp_path, windows=False).split() == ["flags.go"]
