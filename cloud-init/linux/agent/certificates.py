"""Certificates that kubeadm made for a year: renewed long before their end, and their users started anew.

kubelets renew their own. kubeadm renews all of a machine at each upgrade too, so this is for clusters that rest.
"""

from run import Run

from agent.configuration import Configuration

DAY = 86400


def due(run: Run, configuration: Configuration) -> bool:
    """Whether one of this machine's certificates ends soon."""
    told = configuration["certificates"]
    seconds = str(told["days"] * DAY)
    files = [str(run.path(each)) for each in told["files"]]
    return any(
        run.command("openssl", "x509", "-in", each, "-noout", "-checkend", seconds, check=False).returncode
        for each in files
    )


def renew(run: Run, configuration: Configuration) -> None:
    """Renew them all, then have the kubelet make the static pods anew: programs read certificates when they start."""
    told = configuration["certificates"]
    run.command(*told["renew"])
    for argv in told["pods"]:
        for pod in run.command(*argv).stdout.split():
            run.command(*told["stop"], pod)
