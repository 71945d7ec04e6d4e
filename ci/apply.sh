#!/usr/bin/env bash
# Build the cluster STACK, or apply its changed stack file. Environment: STACK; optional: SANDBOX (true).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/passphrase.sh
options=(--yes)
[[ ${SANDBOX:-false} != true ]] || options+=(--sandbox)
exec .venv/bin/mullion up "$STACK" "${options[@]}"
