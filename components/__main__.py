"""The component package: MixedCluster and its functions for programs in any Pulumi language."""

import sys
from pathlib import Path

# The plugin host puts this folder first on the path, where modules of this package would shadow installed ones. Replace
# it by the parent folder, which holds the package.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from pulumi.provider import main  # noqa: E402

from components.package.provider import ClusterPackage  # noqa: E402
from components.sdk.garbage import collect_rarely  # noqa: E402

if __name__ == "__main__":
    collect_rarely()
    # the first argument is the package's folder, the second the engine's address
    main(ClusterPackage(), sys.argv[1:])
