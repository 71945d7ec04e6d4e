#!/usr/bin/env bash
# Remove the cluster NAME if its run was killed before it removed it. A cluster that was kept on purpose stays.
# Environment: NAME; optional: SANDBOX (true), TRIES (20), PAUSE (15, seconds).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
options=(--yes)
[[ ${SANDBOX:-false} != true ]] || options+=(--sandbox)
if [[ ! -e stacks/Pulumi.$NAME.yaml ]]; then
  echo "cluster $NAME is removed"
  exit 0
fi
if grep -q '"kept_until": "[^"]' artifacts/result.json 2>/dev/null; then
  cp "stacks/Pulumi.$NAME.yaml" artifacts/
  echo "cluster $NAME is kept; the reaper removes it after its expiry. To use it from another clone, copy" \
    "Pulumi.$NAME.yaml of the artifacts to stacks/, then: mullion kubeconfig $NAME"
  exit 0
fi
# Code 3: the engine of the killed run still finishes its calls, and holds the lock of the state.
for ((try = ${TRIES:-20}; try > 0; try--)); do
  code=0
  .venv/bin/mullion down "$NAME" "${options[@]}" || code=$?
  if [[ $code -ne 3 ]]; then exit "$code"; fi
  sleep "${PAUSE:-15}"
done
exit 3
