"""Refusals of further disks of virtual machines by Azure; columns as in refusals.py."""

from typing import Any

from tests.sandbox.scenes import Row

from .conftest import UBUNTU


def disks(*given: dict[str, Any]) -> dict[str, Any]:
    plain = {"lun": 0, "createOption": "Empty", "diskSizeGB": 128}
    root = {"createOption": "FromImage", "diskSizeGB": 64}
    further = [{key: value for key, value in (plain | each).items() if value is not None} for each in given]
    return {"storageProfile": {"imageReference": UBUNTU, "osDisk": root, "dataDisks": further}}


V2 = {"managedDisk": {"storageAccountType": "PremiumV2_LRS"}}

DISKS: dict[str, Row] = {
    "two disks of one lun": ("vm", disks({}, {}), "InvalidParameter", "LUN cannot be used by two"),
    "disk without a size": ("vm", disks({"diskSizeGB": None}), "InvalidParameter", "diskSizeGB' is missing"),
    "cache of Premium SSD v2": ("vm", disks(V2 | {"caching": "ReadOnly"}), "InvalidParameter", "only the caching"),
    "Premium SSD v2 in no zone": ("vm", disks(V2) | {"zones": []}, "InvalidParameter", "only to zonal"),
}
