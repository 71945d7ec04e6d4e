#!/usr/bin/env bash
# Write what `mullion up STACK` would do, and which rules it breaks, to preview.md. Ends with the code of the preview.
# Environment: STACK; optional: SANDBOX (true).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/passphrase.sh
options=()
[[ ${SANDBOX:-false} != true ]] || options+=(--sandbox)
code=0
text="$(.venv/bin/mullion preview "$STACK" "${options[@]}" 2>&1)" || code=$?
case $code in
  0) verdict="\`mullion up $STACK\` would do this:" ;;
  3) verdict="**Refused**: \`mullion up $STACK\` would refuse to start. The reasons are at the end." ;;
  *) verdict="**Failed**: \`mullion preview $STACK\` ended with $code." ;;
esac
# Markdown shows lines that begin with four spaces as code. GitHub accepts 65,536 characters, including these spaces.
code_block="$(printf '%s\n' "$text" | sed 's/^/    /')"
{
  printf '### Preview of %s\n\n%s\n\n' "$STACK" "$verdict"
  printf '%s\n' "${code_block:0:60000}"
} >preview.md
cat preview.md
exit "$code"
