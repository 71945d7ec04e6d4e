#!/usr/bin/env bash
# Remove clusters that are past their expiry. Writes reap.md. Environment: optional: MOST (10 clusters), SANDBOX (true).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
options=(--yes --max "${MOST:-10}" --format markdown)
[[ ${SANDBOX:-false} != true ]] || options+=(--sandbox)
code=0
.venv/bin/mullion reap "${options[@]}" >reap.md || code=$?
cat reap.md
exit "$code"
