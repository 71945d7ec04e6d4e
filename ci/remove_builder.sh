#!/usr/bin/env bash
# Remove the builder that a killed bake of STACK left. Images stay.
# Environment: STACK; optional: SANDBOX (true), LIMIT (280, seconds that the service gives this step), PAUSE (10, seconds).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/waiting.sh
options=()
[[ ${SANDBOX:-false} != true ]] || options+=(--sandbox)
until_unlocked .venv/bin/mullion image clean "$STACK" "${options[@]}"
