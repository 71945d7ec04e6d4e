#!/usr/bin/env bash
# Build a cluster from TEMPLATE, run TEST with its kubeconfig, and remove the cluster.
# Environment: TEMPLATE (a stack), NAME (of the cluster), TEST (a shell command); optional: WINDOWS (system of the pool
# POOL, windows), KUBERNETES (version), SETTINGS (lines of PATH=VALUE), TTL (2h), JOB_MINUTES (time limit of the job),
# VERIFY (all), KEEP (1h: keep the cluster of a failed run; the template's api.allow then stays), PASS_CREDENTIALS (true:
# TEST gets those of the job), SANDBOX (true: in the sandbox), ALLOW_RUNNER (false: the template's api.allow already
# contains this runner).
# Reports and logs are written to artifacts/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/passphrase.sh
minutes() { # minutes DURATION: in minutes; mullion judges texts that are none
  case $1 in
    *[!0-9]*[!0-9]* | "") echo 0 ;;
    *d) echo $((10#${1%d} * 1440)) ;;
    *h) echo $((10#${1%h} * 60)) ;;
    *m) echo $((10#${1%m})) ;;
    *) echo 0 ;;
  esac
}
if [[ -n ${JOB_MINUTES:-} && $(($(minutes "${TTL:-2h}") + 60)) -gt $JOB_MINUTES ]]; then
  echo "TTL is $TTL, but the job ends after $JOB_MINUTES minutes, and the removal needs the last hour: write at most" \
    "$((JOB_MINUTES - 60))m, or use a job with more time (docs/ci.md)" >&2
  exit 2
fi
options=(--name "$NAME" --ttl "${TTL:-2h}" --verify "${VERIFY:-all}" --artifacts artifacts)
[[ -z ${WINDOWS:-} ]] || options+=(--set "pools.${POOL:-windows}.os=$WINDOWS")
[[ -z ${KUBERNETES:-} ]] || options+=(--set "kubernetes=$KUBERNETES")
if [[ ${SANDBOX:-false} != true && ${ALLOW_RUNNER:-true} == true ]]; then
  # Hosted runners have a new public address each time, and the API answers only to ranges in api.allow.
  address="$(curl --fail --silent --show-error --max-time 20 "${ADDRESS_FROM:-https://checkip.amazonaws.com}")"
  # People also use a kept cluster, and the template has their ranges: += appends to them.
  equals="${KEEP:++}="
  options+=(--set "api.allow${equals}[$address/32]")
fi
while IFS= read -r setting; do
  [[ -z $setting ]] || options+=(--set "$setting")
done <<<"${SETTINGS:-}"
[[ ${PASS_CREDENTIALS:-false} != true ]] || options+=(--pass-credentials)
[[ -z ${KEEP:-} ]] || options+=(--keep-on-failure "$KEEP")
if [[ ${SANDBOX:-false} == true ]]; then options+=(--sandbox); else options+=(--yes); fi
# exec: the signal of a cancelled job reaches `mullion run`, which then removes the cluster
exec .venv/bin/mullion run "$TEMPLATE" "${options[@]}" -- bash -c "$TEST"
