#!/usr/bin/env bash
# Remove clusters that are past their expiry. Writes reap.md. Environment: optional: MOST (10 clusters), SANDBOX (true),
# BY_TAGS (aws, azure, gcp: then also clusters without a state in this cloud), REGIONS (of BY_TAGS, by commas), MINUTES
# (90: later no removal begins; the rest of the job's time is for those in progress).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
minutes="${MINUTES:-90}"
[[ -z ${BY_TAGS:-} ]] || minutes=$((minutes / 2))
options=(--yes --max "${MOST:-10}" --within "${minutes}m" --format markdown)
[[ ${SANDBOX:-false} != true ]] || options+=(--sandbox)
source ci/signals.sh
code=0
passing_signals .venv/bin/mullion reap "${options[@]}" >reap.md || code=$?
if [[ -n ${BY_TAGS:-} && $code -ne 130 ]]; then
  options+=(--by-tags "$BY_TAGS")
  [[ -z ${REGIONS:-} ]] || options+=(--regions "$REGIONS")
  printf '\nClusters without a state:\n\n' >>reap.md
  passing_signals .venv/bin/mullion reap "${options[@]}" >>reap.md || code=$?
fi
cat reap.md
exit "$code"
