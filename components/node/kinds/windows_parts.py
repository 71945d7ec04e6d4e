"""Kinds for what Windows itself brings: its services, users and firewall."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import NAME, one_of

WINDOWS_PARTS: dict[str, Kind] = {
    "system-service": Kind(
        "A service of Windows itself starts at boot and runs, or is disabled and does not.",
        {
            "service": Field(NAME, "Its name."),
            "start": Field(one_of("auto", "disabled"), "auto: it runs; disabled: it is stopped."),
        },
        compares="Start in its registry key, and its state.",
        sets="Tells the service manager, then starts or stops it.",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=("windows",),
    ),
    "local-user": Kind(
        "Nobody can sign in as this user of the machine: it is disabled, or not there.",
        {"user": Field(NAME, "Its name.")},
        compares="Get-LocalUser: Enabled.",
        sets="Disable-LocalUser.",
        systems=("windows",),
    ),
    "firewall-profiles": Kind(
        "The host's firewall is on in all profiles, and lets in only what rules allow.",
        {},
        compares="Get-NetFirewallProfile: Enabled; DefaultInboundAction is not Allow.",
        sets="Set-NetFirewallProfile.",
        systems=("windows",),
    ),
}
