"""Cloud controller managers by cloud and Kubernetes minor: versions and digests of their images."""

from dataclasses import dataclass

from components.releases.order import minor


@dataclass(frozen=True)
class CloudControllerRelease:
    """One release of a cloud controller manager."""

    image: str
    """Repository and tag."""
    digest: str = ""
    """sha256:... of the image's index; empty if no trusted source publishes it."""


_AWS = "registry.k8s.io/provider-aws/cloud-controller-manager"

AWS_SOURCE = "https://github.com/kubernetes/k8s.io, registry.k8s.io/images/k8s-staging-provider-aws/images.yaml"
"""List of the promoted images at 0137eda2cba1; it ends with 1.35. Versions of 1.36 and 1.37: tags of the repository
kubernetes/cloud-provider-aws, and k8s.io/cloud-provider-aws in the Go module index."""

AWS: dict[str, CloudControllerRelease] = {
    "1.24": CloudControllerRelease(
        f"{_AWS}:v1.24.19", "sha256:3a8daf576a7c624ad4512daff51f0a34f9c0257566c92c44eee4a029bca86ff1"
    ),
    "1.25": CloudControllerRelease(
        f"{_AWS}:v1.25.15", "sha256:825136d4377b4132ee9c024f8db3f77da5f641523377ad66b7e1b29b057c13e1"
    ),
    "1.26": CloudControllerRelease(
        f"{_AWS}:v1.26.14", "sha256:bfdfbfe6ddee363786d27a3f47cdaaf7de06edb38352e825038847c5d0935064"
    ),
    "1.27": CloudControllerRelease(
        f"{_AWS}:v1.27.10", "sha256:f2f12f9a87a79ab83b7bce17b416eee33a44f24a9103ffe54e8f861073b41f3b"
    ),
    "1.28": CloudControllerRelease(
        f"{_AWS}:v1.28.11", "sha256:6deb87f623dab9d2f1391bbd1d3be34d949175bc58cbca6cdb2830dc2c6171f3"
    ),
    "1.29": CloudControllerRelease(
        f"{_AWS}:v1.29.10", "sha256:84737d544b6c07c16be9a1493557c6ae93138e0d48c63656d370be8b2230c398"
    ),
    "1.30": CloudControllerRelease(
        f"{_AWS}:v1.30.10", "sha256:d24df67308f35fe2c71aa48047170f2eeb3b39d23ede4b79351143f58c7a380e"
    ),
    "1.31": CloudControllerRelease(
        f"{_AWS}:v1.31.9", "sha256:4dc7e514e03ad28fa475153831c1d2bb40f19c65c1afc9caa83fa6025c018bb0"
    ),
    "1.32": CloudControllerRelease(
        f"{_AWS}:v1.32.8", "sha256:1bb79227d3f631d686ee1dfaa36ffcd6780f4d54918b0e54aa5d635a987b3fe5"
    ),
    "1.33": CloudControllerRelease(
        f"{_AWS}:v1.33.4", "sha256:b54bc094711e9d7ace6c9bab3d6f02a598e7570ac1fedd6341940e1de79ea476"
    ),
    "1.34": CloudControllerRelease(
        f"{_AWS}:v1.34.3", "sha256:ab45cec4a1ee68a556d09a362746db8fd66b258101aefcf0542f51e960248810"
    ),
    "1.35": CloudControllerRelease(
        f"{_AWS}:v1.35.2", "sha256:5a5d4e5942ad078a184c12bf5435f8226ccb157ee15e9e1f87c183a4bf4b8f1a"
    ),
    "1.36": CloudControllerRelease(f"{_AWS}:v1.36.1"),
    "1.37": CloudControllerRelease(f"{_AWS}:v1.37.1"),
}
"""AWS cloud controller manager by minor. Its minor is the API server's: Kubernetes, "Version Skew Policy", allows the
same or one older."""


def has_aws_controller(kubernetes: str) -> bool:
    """Return whether there is a release for a Kubernetes version."""
    return minor(kubernetes) in AWS


def first_aws_controller() -> str:
    """Return the oldest minor with a release."""
    return next(iter(AWS))


def aws_controller(kubernetes: str) -> CloudControllerRelease:
    """Return the release for a Kubernetes version. Raises KeyError for minors before 1.24."""
    return AWS[minor(kubernetes)]
