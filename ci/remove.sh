#!/usr/bin/env bash
# Remove the cluster NAME if its run was killed before it removed it. A cluster that was kept on purpose stays.
# Environment: NAME; optional: SANDBOX (true), LIMIT (280, seconds that the service gives this step), PAUSE (10, seconds).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/waiting.sh
options=(--yes)
[[ ${SANDBOX:-false} != true ]] || options+=(--sandbox)
# A runner may end the step and leave `mullion run` behind: AzureCLI@2 passes no signal on.
end_run ".mullion/$NAME/run.pid" "$NAME"
if [[ ! -e stacks/Pulumi.$NAME.yaml ]]; then
  echo "there is no stacks/Pulumi.$NAME.yaml: the run removed its cluster, or built none"
  exit 0
fi
if grep -q '"kept_until": "[^"]' artifacts/result.json 2>/dev/null; then
  cp "stacks/Pulumi.$NAME.yaml" artifacts/
  echo "cluster $NAME is kept; the reaper removes it after its expiry. To use it from another clone, copy" \
    "Pulumi.$NAME.yaml of the artifacts to stacks/, then: mullion kubeconfig $NAME"
  exit 0
fi
until_unlocked .venv/bin/mullion down "$NAME" "${options[@]}"
