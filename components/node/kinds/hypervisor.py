"""The kind that checks that Windows runs Hyper-V's hypervisor."""

from components.node.kinds.model import Cut, Kind

HYPERVISOR: dict[str, Kind] = {
    "hypervisor": Kind(
        "Windows runs on Hyper-V's hypervisor since this boot; otherwise the run ends (521).",
        {},
        compares="The System log: a launch of the hypervisor (Microsoft-Windows-Hyper-V-Hypervisor, event 2) at the"
        " last start of Windows (Microsoft-Windows-Kernel-General, event 12).",
        sets="If the boot setting hypervisorlaunchtype is not Auto, bcdedit sets it and the machine restarts; else the"
        " step fails with the last event of the hypervisor.",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
        systems=("windows",),
        image=False,
    ),
}
