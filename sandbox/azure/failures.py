"""Internal failures of ARM, and how long pulumi-azure-native retries them."""

from sandbox.failures import Failures, Retried

FAILURES = Failures(
    internal=("InternalServerError", "An error occurred."),
    # pulumi-azure-native, provider/pkg/azure/client_azcore.go: from 20 s on, at most 120 s; Azure SDK for Go,
    # policy.RetryOptions: three retries, and Retry-After instead if ARM sends it (429)
    throttle=Retried(
        "TooManyRequests",
        "The request is being throttled as the limit has been reached for operation type.",
        *(20, 120, 3, 180),
    ),
    # a new identity reaches directory replicas after a delay: RBAC, "Troubleshoot Azure RBAC"
    unseen=Retried(
        "PrincipalNotFound",
        "Principal does not exist in the directory. Check that you have the correct principal ID. If you are creating"
        " this"
        " principal and then immediately assigning a role, this error might be related to a replication delay.",
        *(20, 120, 3, 180),
    ),
    unseen_by="RoleAssignment",
    capacity=Retried(
        "ZonalAllocationFailed",
        "Allocation failed. We do not have sufficient capacity for the requested VM size in this zone.",
        *(0.8, 60, 0, 180),
    ),
    # gardenlinux issue 4133, karpenter-provider-azure issue 92; the API answers 400, which the provider does not retry
    reserved=Retried(
        "NicReservedForAnotherVm",
        "Nic(s) in request is reserved for another Virtual Machine for 180 seconds. Please provide another nic(s) or"
        " retry after 180 seconds.",
        *(0.8, 60, 0, 180),
    ),
)
