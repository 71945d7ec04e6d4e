#!/usr/bin/env bash
# Remove clusters that are past their expiry. Writes reap.md. Environment: optional: MOST (10 clusters), SANDBOX (true),
# BY_TAGS (aws, azure, gcp: then also clusters without a state in this cloud), REGIONS (of BY_TAGS, by commas).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
options=(--yes --max "${MOST:-10}" --format markdown)
[[ ${SANDBOX:-false} != true ]] || options+=(--sandbox)
code=0
.venv/bin/mullion reap "${options[@]}" >reap.md || code=$?
if [[ -n ${BY_TAGS:-} ]]; then
  options+=(--by-tags "$BY_TAGS")
  [[ -z ${REGIONS:-} ]] || options+=(--regions "$REGIONS")
  printf '\nClusters without a state:\n\n' >>reap.md
  .venv/bin/mullion reap "${options[@]}" >>reap.md || code=$?
fi
cat reap.md
exit "$code"
