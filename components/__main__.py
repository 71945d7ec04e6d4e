"""The component package: MixedCluster for programs in any Pulumi language."""

import sys
from pathlib import Path

# The plugin host puts this folder first on the path, where modules of this package would shadow installed ones. Replace
# it by the parent folder, which holds the package.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from pulumi.provider.experimental import component_provider_host  # noqa: E402

from components.cluster import MixedCluster  # noqa: E402
from components.sdk.garbage import collect_rarely  # noqa: E402
from components.version import VERSION  # noqa: E402

if __name__ == "__main__":
    collect_rarely()
    component_provider_host([MixedCluster], name="mullion", version=VERSION)
