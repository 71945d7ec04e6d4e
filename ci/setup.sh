#!/usr/bin/env bash
# Set up the clone on a runner: .venv, and the Pulumi engine, which is built once if the runner has none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec make engine
