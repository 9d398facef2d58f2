#!/bin/sh
# Installs the packages of bun.lock if needed, then runs its arguments with the Bun version that package.json pins.
set -eu
cd "$(dirname "$0")/../.."
bun=node_modules/.bin/bun
installed=node_modules/.installed.lock # copy of the installed bun.lock
lock=node_modules/.installing          # names the process that installs
unfinished=node_modules/.unfinished    # exists while an install is incomplete

is_installed() { [ -x "$bun" ] && cmp -s bun.lock "$installed"; }

# Prints the pid and the start time of a live process: pids are reused, and in a container soon.
process_id() {
  if [ -d /proc/self ]; then
    began=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20)
  else
    began=$(ps -o lstart= -p "$1" 2>/dev/null || true)
  fi
  if [ -n "$began" ]; then echo "$1-$began"; fi
}

# One of several concurrent starts installs. If the lock's holder has died, the next holder creates the file
# ".installing.after-<holder>", which only one process can create. All lock files stay until an install has finished.
take_lock() {
  me=$(process_id $$)
  last=$lock
  probe=$lock.probe-$me
  if ! { mkdir -p node_modules && echo "$me" >"$probe" && rm "$probe"; }; then
    echo "The packages must be installed, but $(id -un) cannot write to $PWD/node_modules: see the error above" >&2
    exit 1
  fi
  until (set -C && echo "$me" >"$last") 2>/dev/null; do
    holder=$(cat "$last" 2>/dev/null || true)
    if [ -z "$holder" ] || [ "$holder" = "$(process_id "${holder%%-*}")" ]; then
      sleep 0.2
      last=$lock
    else
      last="$lock.after-$holder"
    fi
  done
}

# Deletes the files of an interrupted install.
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
    install >&2 || { echo 'Installing the packages failed: see the error above' >&2 && exit 1; }
    cp bun.lock "$installed"
    rm "$unfinished"
  fi
  rm -f "$lock" "$lock".after-*
fi

# Bun sizes its heap by the machine's memory. With this limit in bytes, a web process that serves lists uses 330 MiB
# instead of 560, at the same throughput (measured).
if [ "${1:-}" = src/main.ts ]; then
  export BUN_JSC_forceRAMSize="${BUN_JSC_forceRAMSize:-402653184}"
fi
[ $# -eq 0 ] || exec "$bun" "$@"
