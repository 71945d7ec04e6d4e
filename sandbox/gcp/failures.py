"""Internal failures of GCP, and how long pulumi-gcp retries them."""

from sandbox.failures import Failures, Retried

FAILURES = Failures(
    internal=("backendError", "googleapi: Error 503: The service is currently unavailable."),
    # terraform-provider-google: retries 429, 500, 502 and 503 within the call's time, waits from 0.5 s doubling to
    # 10 s; the default of a create is 20 minutes
    throttle=Retried(
        "rateLimitExceeded",
        "googleapi: Error 403: Quota exceeded for quota metric 'Queries' and limit 'Queries per minute'",
        *(0.5, 10, 1000, 1200),
    ),
    # a new service account is "eventually consistent": IAM, "Create service accounts"
    unseen=Retried(
        "badRequest",
        "googleapi: Error 400: Service account does not exist.",
        *(0.5, 10, 1000, 120),
    ),
    unseen_by="BucketIAMMember",
    capacity=Retried(
        "ZONE_RESOURCE_POOL_EXHAUSTED",
        "The zone does not have enough resources available to fulfill the request.",
        *(0.5, 10, 0, 1200),
    ),
)
