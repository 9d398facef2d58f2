#!/bin/sh
# Installs packages of Debian and Ubuntu: as root or by sudo into the system, otherwise into a folder.
# Usage: install.sh FOLDER "PACKAGE ..." "PROGRAM ..."
set -eu
dir=$1 packages=$2 programs=$3
export DEBIAN_FRONTEND=noninteractive

if [ "$(id -u)" = 0 ]; then sudo=''; elif sudo -n true 2> /dev/null; then sudo='sudo -n env DEBIAN_FRONTEND=noninteractive'; else sudo=none; fi
if [ "$sudo" != none ]; then
  $sudo apt-get update -qq
  $sudo apt-get install -y -qq --no-install-recommends $packages
  exit
fi

# Downloads the packages and their missing libraries, and unpacks them.
work=$dir/download
rm -rf "$work"
mkdir -p "$work/lists/partial" "$work/archives/partial" "$dir/bin"
own() {
  apt-get -qq -o Dir::State::lists="$work/lists" -o Dir::Cache="$work" -o Dir::Cache::archives="$work/archives" \
    -o Debug::NoLocking=1 "$@"
}
own update
own install -y --download-only --no-install-recommends $packages
for archive in "$work"/archives/*.deb; do dpkg-deb --extract "$archive" "$dir/root"; done
rm -r "$work"

libraries=$(find "$dir/root/usr/lib" "$dir/root/lib" -maxdepth 1 -name '*-linux-*' 2> /dev/null | paste -sd :)
for name in $programs; do
  for program in "$dir/root/usr/bin/$name" "$dir/root/usr/sbin/$name"; do
    [ -x "$program" ] || continue
    printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$libraries" "$program" > "$dir/bin/$name"
    chmod 755 "$dir/bin/$name"
  done
done
