# shellcheck shell=bash
# Functions of remove.sh and remove_builder.sh, which have LIMIT seconds (280: GitHub gives steps after a cancellation five
# minutes) with pauses of PAUSE seconds.
LOCKED=6 # exit code of mullion: another run holds the lock, such as the engine of a killed run that ends its calls

until_unlocked() { # until_unlocked COMMAND...: run it until no other run holds the lock of the stack
  local code
  while true; do
    code=0
    "$@" || code=$?
    if [[ $code -ne $LOCKED || $SECONDS -ge ${LIMIT:-280} ]]; then
      return "$code"
    fi
    sleep "${PAUSE:-10}"
  done
}

end_run() { # end_run FILE WORD: ask the process whose id is in FILE, and which has WORD in its arguments, to end; wait
  local pid
  pid="$(cat "$1" 2>/dev/null)" || return 0
  # it removes the cluster at this signal; a second one changes nothing
  if ! _runs "$pid" "$2" || ! kill -TERM "$pid"; then return 0; fi
  echo "waiting for process $pid, which removes the cluster $2"
  while _runs "$pid" "$2" && [[ $SECONDS -lt ${LIMIT:-280} ]]; do
    sleep "${PAUSE:-10}"
  done
}

_runs() {
  tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null | grep -qxF -- "$2"
}
