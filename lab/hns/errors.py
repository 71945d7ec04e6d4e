"""Errors of HCN and HNS: codes of winerror.h (golang.org/x/sys/windows zerrors_windows.go), texts as in published logs.

Logs: kubernetes-sigs/sig-windows-tools#71 (address), #249 (parameter), projectcalico/calico#8465 (policy),
kubernetes/community#8883 (port), kubernetes/kubernetes#139519 (file exists), microsoft/hcsshim#1043 (switch-port).
Other texts are ours.
"""

import json
from enum import Enum


class Code(Enum):
    """HRESULT and text of an error."""

    NETWORK_NOT_FOUND = 0x803B0001, "The network was not found. "
    ENDPOINT_NOT_FOUND = 0x803B0002, "The endpoint was not found. "
    SUBNET_NOT_FOUND = 0x803B0005, "The subnet was not found. "
    ADAPTER_NOT_FOUND = 0x803B0006, "The adapter was not found. "
    SWITCH_PORT_NOT_FOUND = 0x803B0007, "The switch-port was not found. "
    POLICY_NOT_FOUND = 0x803B0008, "The policy was not found. "
    INVALID_NETWORK = 0x803B000A, "The network configuration is invalid. "
    INVALID_NETWORK_TYPE = 0x803B000B, "The network type is invalid. "
    INVALID_ENDPOINT = 0x803B000C, "The endpoint configuration is invalid. "
    INVALID_POLICY = 0x803B000D, "The provided policy configuration is invalid or missing parameters. "
    INVALID_POLICY_TYPE = 0x803B000E, "The policy type is invalid here. "
    NETWORK_EXISTS = 0x803B0010, "The network already exists. "
    PORT_EXISTS = 0x803B0013, "The specified port already exists. "
    ALREADY_ATTACHED = 0x803B0014, "This endpoint is already attached to the switch. "
    UNSUPPORTED = 0x803B0015, "The request is not supported. "
    INVALID_JSON = 0x803B001B, "Invalid JSON document string. "
    IN_OTHER_NAMESPACE = 0x803B002B, "The endpoint is in a namespace already. "
    HAS_REFERENCES = 0x803B002C, "Other objects refer to this one. "
    ADDRESS_INVALID = 0x803B002F, "An address provided is invalid or reserved. "
    NOT_FOUND = 0x80070490, "Element not found. "
    PARAMETER = 0x80070057, "The parameter is incorrect. "
    FILE_EXISTS = 0x800700B7, "Cannot create a file when that file already exists. "
    OBJECT_EXISTS = 0x80071392, "The object already exists. "
    NO_COMPUTE_SYSTEM = 0xC037010E, "A compute system with the specified identifier does not exist. "


class HnsError(Exception):
    """A refused call. code: HRESULT and text. why: the reason in our words, for the logs of tests."""

    def __init__(self, code: Code, why: str) -> None:
        """Store the code and the reason."""
        super().__init__(f"{code.name} (0x{code.value[0]:08x}): {why}")
        self.code, self.why = code, why

    @property
    def hresult(self) -> int:
        """Return the HRESULT as a number without sign."""
        return self.code.value[0]

    def record(self) -> str:
        """Return the error record, JSON text."""
        return json.dumps({"Success": False, "Error": self.code.value[1], "ErrorCode": self.hresult})
