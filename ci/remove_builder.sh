#!/usr/bin/env bash
# Remove the builder that a killed bake of STACK left. Images stay. Environment: STACK; optional: SANDBOX (true).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
options=()
[[ ${SANDBOX:-false} != true ]] || options+=(--sandbox)
exec .venv/bin/mullion image clean "$STACK" "${options[@]}"
