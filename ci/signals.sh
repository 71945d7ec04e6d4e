# shellcheck shell=bash
# Function of scripts that do something after a command: the signal of a cancelled job reaches bash alone.

passing_signals() { # passing_signals COMMAND...: run it, pass signals on to it, and return its code
  local child code=0
  "$@" &
  child=$!
  # shellcheck disable=SC2064 # the child of this call
  trap "kill -TERM $child || true" INT TERM
  wait "$child" || code=$?
  while kill -0 "$child" 2>/dev/null; do # the signal has ended that wait
    code=0
    wait "$child" || code=$?
  done
  trap - INT TERM
  return "$code"
}
