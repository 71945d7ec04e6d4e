#!/usr/bin/env bash
# Remove the builder that a killed bake of STACK left. Images stay.
# Environment: STACK; optional: SANDBOX (true), TRIES (20), PAUSE (15, seconds).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
options=()
[[ ${SANDBOX:-false} != true ]] || options+=(--sandbox)
# Code 3: the engine of the killed run still finishes its calls, and holds the lock of the state.
for ((try = ${TRIES:-20}; try > 0; try--)); do
  code=0
  .venv/bin/mullion image clean "$STACK" "${options[@]}" || code=$?
  if [[ $code -ne 3 ]]; then exit "$code"; fi
  sleep "${PAUSE:-15}"
done
exit 3
