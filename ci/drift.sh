#!/usr/bin/env bash
# Compare the cloud with the state of STACK; end with 5 if something was changed by hand. Writes drift.md.
# Environment: STACK.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
code=0
text="$(.venv/bin/mullion drift "$STACK" 2>&1)" || code=$?
code_block="$(printf '%s\n' "$text" | sed 's/^/    /')"
{
  printf '### Drift of %s\n\n' "$STACK"
  printf '%s\n' "${code_block:0:60000}"
} >drift.md
cat drift.md
exit "$code"
