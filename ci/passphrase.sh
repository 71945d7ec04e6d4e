# shellcheck shell=bash
# Sourced by the scripts that may create a state: its passphrase must be a secret, but the engine accepts any text, even an
# empty one. GitHub sets an empty text for a secret that does not exist: without the variable, the engine asks for a
# passphrase, unless a key in the cloud or Pulumi Cloud protects the state. Azure Pipelines leaves $(NAME) as it is.
if [[ ${SANDBOX:-false} != true ]]; then
  case ${PULUMI_CONFIG_PASSPHRASE:-} in
    "") unset PULUMI_CONFIG_PASSPHRASE ;;
    "\$("*")")
      echo "PULUMI_CONFIG_PASSPHRASE is the text $PULUMI_CONFIG_PASSPHRASE, because the pipeline has no such variable, and" \
        "everybody could read the secrets of the state: set the secret variable (docs/ci.md)" >&2
      exit 2
      ;;
  esac
fi
