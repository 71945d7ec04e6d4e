"""Folders that `kubeadm upgrade` leaves in /etc/kubernetes/tmp, on the root disk.

Each upgrade first copies all of etcd's data there, also when etcd does not change, and deletes no copy (kubeadm 1.37.1,
performEtcdStaticPodUpgrade and GetPathManagerForUpgrade in phases/upgrade/staticpods.go; kubernetes issue 125357). A
snapshot from before the same turn is in the snapshot store.
"""

import re

from run import Run
from tidying import delete_folder

FOLDER = "/etc/kubernetes/tmp"
DATED = r"\d{4}(?:-\d\d){5}"
"""Date and time in the names of kubeadm's backups (kubeadm, CreateTimestampDir in constants/constants.go)."""
ETCD = re.compile(rf"kubeadm-backup-etcd-{DATED}")
MANIFESTS = re.compile(rf"kubeadm-backup-manifests-{DATED}")
UNUSED = re.compile(r"kubeadm-upgraded-manifests\d+")
"""Manifests that kubeadm wrote and did not use: it deletes the folder only after a success."""


def delete(run: Run, *, again: bool) -> None:
    """Delete old folders. A failure ends no upgrade.

    again: kubeadm is about to copy etcd's data again, so the disk needs room for it, and no copy stays. Otherwise the
    newest one stays.
    """
    for pattern, kept in ((ETCD, 0 if again else 1), (MANIFESTS, 1), (UNUSED, 0)):
        found = [each for each in run.path(FOLDER).glob("*") if pattern.fullmatch(each.name) and not each.is_symlink()]
        for each in sorted(found, key=lambda folder: folder.name, reverse=True)[kept:]:
            delete_folder(each, f"{FOLDER}/{each.name}", ": kubeadm left it")
