#!/usr/bin/env bash
# Print `export` lines that let SDKs sign in to CLOUD with the OIDC token of a GitLab job; nothing if SANDBOX is true.
# Environment: CLOUD; OIDC_TOKEN; IDENTITY: aws: the role's ARN. azure: client, tenant and subscription. gcp: the
# provider (projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER) and the service account.
set -euo pipefail
[[ ${SANDBOX:-false} != true ]] || exit 0
folder="$(mktemp -d)"
token="$folder/token"
(umask 077 && printf '%s' "$OIDC_TOKEN" >"$token")
read -r -a words <<<"$IDENTITY"

need() { # need COUNT MEANING: refuse an IDENTITY with another number of words
  if [[ ${#words[@]} -ne $1 ]]; then
    echo "IDENTITY has ${#words[@]} words; for CLOUD=$CLOUD write $2" >&2
    exit 2
  fi
}

case $CLOUD in
  aws) # AWS SDKs exchange and renew the token themselves
    need 1 "the role's ARN"
    printf 'export %s=%q\n' AWS_ROLE_ARN "${words[0]}" AWS_WEB_IDENTITY_TOKEN_FILE "$token"
    ;;
  azure) # ARM_: of the provider azure-native. AZURE_: of the backend azblob://, which reads no ARM_ variable
    need 3 "client id, tenant id and subscription id"
    printf 'export %s=%q\n' ARM_USE_OIDC true ARM_CLIENT_ID "${words[0]}" ARM_TENANT_ID "${words[1]}" \
      ARM_SUBSCRIPTION_ID "${words[2]}" ARM_OIDC_TOKEN_FILE_PATH "$token" \
      AZURE_CLIENT_ID "${words[0]}" AZURE_TENANT_ID "${words[1]}" AZURE_FEDERATED_TOKEN_FILE "$token"
    ;;
  gcp) # the form of `gcloud iam workload-identity-pools create-cred-config`
    need 2 "the provider and the service account"
    cat >"$folder/gcp.json" <<EOF
{
  "type": "external_account",
  "audience": "//iam.googleapis.com/${words[0]}",
  "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
  "token_url": "https://sts.googleapis.com/v1/token",
  "service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${words[1]}:generateAccessToken",
  "credential_source": {"file": "$token"}
}
EOF
    printf 'export %s=%q\n' GOOGLE_APPLICATION_CREDENTIALS "$folder/gcp.json"
    ;;
  *)
    echo "CLOUD is '$CLOUD'; write aws, azure or gcp" >&2
    exit 2
    ;;
esac
