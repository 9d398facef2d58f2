#!/bin/sh
# Runs the Bun that package.json pins, whichever is on the PATH, with the packages of bun.lock installed.
set -eu
cd "$(dirname "$0")/../.."
bun=node_modules/.bin/bun
installed=node_modules/.installed.lock # bun.lock as it was installed; comparing the two takes a millisecond
lock=node_modules/.installing          # who installs, until it is done
unfinished=node_modules/.unfinished    # an install was begun, and has not come to its end

is_installed() { [ -x "$bun" ] && cmp -s bun.lock "$installed"; }

# A process that lives, by its pid and by when it began: the pid may be another's by now, in a container even our own.
named() {
  if [ -d /proc/self ]; then
    began=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20)
  else
    began=$(ps -o lstart= -p "$1" 2>/dev/null || true)
  fi
  if [ -n "$began" ]; then echo "$1-$began"; fi
}

# Of several first starts at once one installs. Who ended without giving the lock back has a successor, of whom there can
# be but one: the file with its name. Nothing is taken away before an install is done, so nobody loses what they have.
take_lock() {
  mkdir -p node_modules
  me=$(named $$)
  last=$lock
  until (set -C && echo "$me" >"$last") 2>/dev/null; do
    held=$(cat "$last" 2>/dev/null || true)
    if [ -z "$held" ] || [ "$held" = "$(named "${held%%-*}")" ]; then
      sleep 0.2
      last=$lock
    else
      last="$lock.after-$held"
    fi
  done
}

# What an install has left that did not come to its end is not built upon.
begin() {
  if [ -e "$unfinished" ]; then
    find node_modules -mindepth 1 -maxdepth 1 ! -name "${lock##*/}*" -exec rm -rf {} +
  fi
  : >"$unfinished"
  rm -f "$installed"
}

install() {
  set -- install --frozen-lockfile --no-progress --no-summary
  if [ -x "$bun" ]; then
    "$bun" "$@"
  elif command -v npx >/dev/null; then
    npx --yes "bun@$(sed -n 's/^ *"bun": "\([0-9.]*\)".*/\1/p' package.json)" "$@"
  else
    bun "$@"
  fi
}

if ! is_installed; then
  take_lock
  if ! is_installed; then
    echo 'Installing the packages' >&2
    begin
    install >&2 || { echo 'The packages could not be installed: the reason stands above' >&2 && exit 1; }
    cp bun.lock "$installed"
    rm "$unfinished"
  fi
  rm -f "$lock" "$lock".after-*
fi

# Bun's heap grows by what memory the machine has: bounded to this many bytes, a web process under lists of all kinds takes
# 330 MiB instead of 560, at the same rate.
if [ "${1:-}" = src/main.ts ]; then
  export BUN_JSC_forceRAMSize="${BUN_JSC_forceRAMSize:-402653184}"
fi
[ $# -eq 0 ] || exec "$bun" "$@"
