#!/usr/bin/env bash
# Install what the image of GitLab jobs (Debian) lacks: `aws` for CLOUD=aws, which tells `mullion` the account, and
# kubectl of the version KUBERNETES for the command of a test. Environment: CLOUD; optional: KUBERNETES, SANDBOX (true).
set -euo pipefail
[[ ${SANDBOX:-false} != true ]] || exit 0
case ${BY_TAGS:-} in
  "" | aws) ;;
  *)
    echo "BY_TAGS is '$BY_TAGS', but this image has no az and no gcloud that could list an account. Run mullion reap" \
      "--by-tags $BY_TAGS where they are signed in, or in GitHub's or Azure's pipeline (docs/ci.md)" >&2
    exit 2
    ;;
esac
if [[ $CLOUD == aws ]] && ! command -v aws >/dev/null; then
  apt-get update -qq
  apt-get install -qq --no-install-recommends awscli
fi
if [[ -n ${KUBERNETES:-} ]] && ! command -v kubectl >/dev/null; then
  folder="$(mktemp -d)"
  from="https://dl.k8s.io/release/v$KUBERNETES/bin/linux/$(dpkg --print-architecture)"
  curl --fail --silent --show-error --location --output "$folder/kubectl" "$from/kubectl"
  curl --fail --silent --show-error --location --output "$folder/sum" "$from/kubectl.sha256"
  echo "$(<"$folder/sum")  $folder/kubectl" | sha256sum --check --quiet
  install -m 755 "$folder/kubectl" /usr/local/bin/kubectl
fi
