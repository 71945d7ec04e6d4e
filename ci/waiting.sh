# shellcheck shell=bash
# Functions of remove.sh and remove_builder.sh, which have LIMIT seconds (280: GitHub gives steps after a cancellation five
# minutes, and then kills them without a signal) with pauses of PAUSE seconds.
source ci/signals.sh
LOCKED=6 # exit code of mullion: another run holds the lock, such as the engine of a killed run that ends its calls
STOPPED=124 # exit code of timeout

# The last minute is for the engine: it ends the calls in progress, writes the state and releases its lock.
_limit="${LIMIT:-280}"
_last=$((_limit / 4 < 60 ? _limit / 4 : 60))
_working="$((_limit - _last))"

until_unlocked() { # until_unlocked COMMAND...: run it until no other run holds the lock of the stack
  local code rest
  while true; do
    code=0
    rest=$((_working > SECONDS ? _working - SECONDS : 1))
    passing_signals timeout --foreground --signal=TERM "$rest" "$@" || code=$?
    if [[ $code -eq $STOPPED ]]; then
      echo "stopped after $SECONDS s, because the service kills this step after $_limit s; the reaper removes the rest" >&2
    fi
    if [[ $code -ne $LOCKED || $SECONDS -ge $_working ]]; then
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
  while _runs "$pid" "$2" && [[ $SECONDS -lt $_working ]]; do
    sleep "${PAUSE:-10}"
  done
}

_runs() {
  tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null | grep -qxF -- "$2"
}
