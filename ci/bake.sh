#!/usr/bin/env bash
# Bake an image of a Windows pool of STACK. Writes bake.md: what was printed, and the change of the stack file, which a
# pull request brings to the repository. Environment: STACK; optional: POOL (the stack's only Windows pool), KEEP (3
# images), SANDBOX (true).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/passphrase.sh
options=(--keep "${KEEP:-3}" --yes)
[[ -z ${POOL:-} ]] || options+=(--pool "$POOL")
[[ ${SANDBOX:-false} != true ]] || options+=(--sandbox)
file="stacks/Pulumi.$STACK.yaml"
before="$(mktemp)"
cp "$file" "$before"
said="$(mktemp)"
source ci/signals.sh
code=0
passing_signals .venv/bin/mullion image bake "$STACK" "${options[@]}" >"$said" 2>&1 || code=$?
change="$(diff -u --label "a/$file" --label "b/$file" "$before" "$file")" || true
{
  printf '### Image of %s\n\n' "$STACK"
  sed 's/^/    /' "$said"
  if [[ -n $change ]]; then
    printf '\nA pull request with this change, and mullion up %s, bring it to the machines:\n\n' "$STACK"
    printf '%s\n' "$change" | sed 's/^/    /'
  fi
} >bake.md
cat bake.md
exit "$code"
