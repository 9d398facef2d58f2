#!/bin/sh
# Runs the Bun that package.json pins, whichever is on the PATH, with the packages of bun.lock installed.
set -eu
cd "$(dirname "$0")/../.."
bun=node_modules/.bin/bun
installed=node_modules/.installed.lock # bun.lock as it was installed; comparing the two takes a millisecond
lock=node_modules/.installing          # who installs, until it is done

is_installed() { [ -x "$bun" ] && cmp -s bun.lock "$installed"; }

holder() { cat "$lock" 2>/dev/null || true; }

# Of several first starts at once one installs. Whoever ended without giving the lock back left an unfinished install,
# which is begun anew.
take_lock() {
  mkdir -p node_modules
  until (set -C && echo $$ >"$lock") 2>/dev/null; do
    pid=$(holder)
    if [ -n "$pid" ] && ! kill -0 "$pid" 2>/dev/null && [ "$(holder)" = "$pid" ]; then
      rm -rf node_modules && mkdir node_modules
    fi
    sleep 0.2
  done
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
    install >&2 || { echo 'The packages could not be installed: the reason stands above' >&2 && exit 1; }
    cp bun.lock "$installed"
  fi
  rm -f "$lock"
fi
[ $# -eq 0 ] || exec "$bun" "$@"
