#!/usr/bin/env bash
# Installs the Debian packages in a bare Debian 12 without the Swift toolchain, uses them, upgrades under a running
# download, removes, purges and installs again. Prints one line per result, and fails at the first that does not hold.
#
# Called by `make deb-test`; after `make deb`, sudo packaging/test-in-chroot.sh tests the packages in .build-deb. Needs root,
# for debootstrap and chroot, and a mirror of Debian (MIRROR). All mounts and processes are in namespaces of the test, and
# end with it. PREVIOUS is the version to upgrade from: the same programs in packages with that number.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "deb-test: FAILED: $*" >&2
    exit 1
}

ok() { echo "deb-test: $*"; }

previous=${PREVIOUS:-0.1.9}

# 1. Outside: packages, a folder, and namespaces.
if [ "${1:-}" != --inside ]; then
    [ "$(id -u)" -eq 0 ] || fail "this test needs root, for debootstrap and chroot: sudo make deb-test"
    [ "${1:-}" != --can-run ] || exit 0
    export BINARIES=${BINARIES:-$PWD/.build/release} GATEWAYBINARIES=${GATEWAYBINARIES:-$PWD/.build-gateway-release/release}
    mapfile -t packages < <(ls "$PWD"/.build-deb/*.deb 2>/dev/null || true)
    [ "${#packages[@]}" -gt 0 ] || fail "there are no packages in .build-deb; make deb builds them"
    [[ ${packages[*]} = *nightshift-gateway_* ]] || export DEB_BUILD_PROFILES=pkg.nightshift.nogateway
    mkdir -p .build-deb/archives
    # Not in /tmp, which may forbid devices and programs.
    room=$(mktemp -d /var/tmp/nightshift-deb-test.XXXXXX)
    inside=
    tidy() {
        if [ -n "$inside" ] && kill "$inside" 2>/dev/null; then wait "$inside" || true; fi
        rm -rf --one-file-system "$room"
        chown -R --reference=.build-deb .build-deb/archives
    }
    trap tidy EXIT
    trap 'exit 130' INT TERM
    scripts/deb.sh --version "$previous" --output "$room/previous"
    unshare --mount --propagation private --pid --fork --kill-child "$0" --inside "$room" "${packages[@]}" &
    inside=$!
    status=0
    wait "$inside" || status=$?
    inside=
    ! grep -q "$room" /proc/self/mounts || fail "mounts are left over below $room"
    exit "$status"
fi

room=$2
shift 2
root=$room/root
version=$(sed -n 's/.*current = "\(.*\)".*/\1/p' Sources/API/NightshiftAPI/Version.swift)
port=8471
architecture=$(dpkg --print-architecture)

# 2. A bare Debian 12.
ok "installing Debian 12 into $root"
debootstrap --variant=minbase --cache-dir="$PWD/.build-deb/archives" bookworm "$root" \
    "${MIRROR:-http://deb.debian.org/debian}" >"$room/log" 2>&1 || { tail -n 20 "$room/log" >&2; fail "debootstrap"; }
mount -t proc proc "$root/proc"
mount --bind .build-deb/archives "$root/var/cache/apt/archives"
cp /etc/resolv.conf "$root/etc/resolv.conf"
echo 'APT::Keep-Downloaded-Packages "true";' >"$root/etc/apt/apt.conf.d/keep"

inside() {
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+http_proxy="$http_proxy"} "$@"
}

# Runs a command as a user who has no session: without systemd, and without a runtime directory.
as_ada() {
    chroot --userspec=ada:ada "$root" env -i HOME=/home/ada USER=ada PATH=/usr/bin:/bin LC_ALL=C.UTF-8 timeout 300 "$@"
}

apt() {
    inside apt-get --yes --quiet -o Dpkg::Use-Pty=0 "$@" >"$room/log" 2>&1 || { cat "$room/log" >&2; fail "apt-get $*"; }
}

# Waits, 60 s at most, until a command succeeds.
await() {
    local what=$1
    shift
    for _ in $(seq 600); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    fail "timed out: $what"
}

exists() { [ -e "$root$1" ] || [ -L "$root$1" ] || fail "$1 is missing"; }
gone() { ! [ -e "$root$1" ] && ! [ -L "$root$1" ] || fail "$1 is still there"; }
installed() { [ "$(inside dpkg-query --show --showformat='${db:Status-Status} ${Version}' nightshift)" = "installed $1" ] ||
    fail "nightshift is not installed in version $1"; }
# The processes of the service: not those that belong to apps, which have other names.
services() { grep -lx nightshiftd "$root"/proc/[0-9]*/comm 2>/dev/null | sed 's|.*/proc/\([0-9]*\)/comm|\1|'; }

# Other packages start no services here, and nginx is started below on a port of its own.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
apt update
apt install --no-install-recommends nginx-light man-db
rm "$root/usr/sbin/policy-rc.d"
inside useradd --create-home --shell /bin/sh ada
mkdir -p "$root/srv/origin"
head -c 3000000 /dev/urandom >"$root/srv/origin/small"
head -c 40000000 /dev/urandom >"$root/srv/origin/large"
sed "s|@FOLDER@|/srv|; s|@PORT@|$port|" packaging/debian/tests/origin.conf >"$root/srv/origin.conf"
inside nginx -c /srv/origin.conf 2>"$room/origin" &
await "the web server does not start: $(cat "$room/origin")" test -s "$root/run/nightshift-test-origin.pid"
origin=http://127.0.0.1:$port

# 3. The earlier version, with nothing but what it depends on.
mkdir "$root/root/old" "$root/root/new"
cp "$room"/previous/*.deb "$root/root/old"
cp "$@" "$root/root/new"
apt install --no-install-recommends "/root/old/nightshift_$previous-1_$architecture.deb"
installed "$previous-1"
! inside sh -c 'command -v swift' >/dev/null || fail "the toolchain is in the chroot"
for program in nightshift nightshiftd; do
    libraries=$(inside ldd /usr/bin/$program)
    ! grep -qiE 'not found|swift' <<<"$libraries" || fail "$program: $libraries"
    [ "$(as_ada $program --version)" = "$version" ] || fail "$program --version is not $version"
done
ok "$previous is installed without recommended packages, and its programs run"

as_ada mkdir /home/ada/downloads
as_ada nightshift get -d /home/ada/downloads $origin/small >"$room/out" 2>&1 || fail "get: $(cat "$room/out")"
cmp "$root/home/ada/downloads/small" "$root/srv/origin/small" || fail "the downloaded file differs"
ok "a user downloads a file"

# 4. The upgrade, under a running download.
as_ada nightshift get --detach --connections 1 -d /home/ada/downloads $origin/slow/large >"$room/id"
id=$(cat "$room/id")
received() { as_ada nightshift show "$id" --json | sed -n 's/.*"countOfBytesReceived" *: *\([0-9]*\).*/\1/p' | head -n 1; }
enough() { [ "$(received)" -ge 4000000 ]; }
await "4 MB do not arrive" enough
service=$(services)
[ "$(wc -w <<<"$service")" -eq 1 ] || fail "one service was expected, and these run: $service"
apt install --no-install-recommends "/root/new/nightshift_$version-1_$architecture.deb"
installed "$version-1"
[ "$(services)" = "$service" ] || fail "the upgrade ended a service that systemd does not know"
before=$(received)
[ "$before" -lt 40000000 ] || fail "the download was complete before the new version had a part in it"
as_ada nightshift service stop >/dev/null
touch "$root/srv/fast"
# The next command starts the new program.
as_ada nightshift wait "$id" || fail "the download did not continue: $(as_ada nightshift why "$id")"
[ "$(services)" != "$service" ] || fail "the old program still runs"
cmp "$root/home/ada/downloads/large" "$root/srv/origin/large" || fail "the file of the upgrade differs"
sent=$(awk '$3 == "/slow/large" { sum += $2 } END { print sum }' "$root/srv/origin.log")
grep -q '^206 .*/slow/large' "$root/srv/origin.log" || fail "no part of the file was requested"
[ "$sent" -le $((40000000 + 8388608)) ] || fail "the server sent $sent bytes for a file of 40000000"
[ "$(as_ada nightshift list --all --json | grep -c '"state" *: *"completed"')" -eq 2 ] || fail "the list has changed"
ok "an upgrade to $version keeps the list, and a running download continues ($sent bytes sent for 40000000)"

# 5. The files of the package.
[ -z "$(inside dpkg --verify nightshift)" ] || fail "$(inside dpkg --verify nightshift)"
for page in nightshift nightshiftd; do
    inside env MANPAGER=cat man --warnings=w -l /usr/share/man/man1/$page.1.gz >"$room/page" 2>"$room/warnings" ||
        fail "man -l $page.1.gz: $(cat "$room/warnings")"
    grep -q '^NAME' "$room/page" || fail "$page.1.gz has no section NAME"
    [ ! -s "$room/warnings" ] || fail "$page.1.gz: $(cat "$room/warnings")"
    inside man -w $page >/dev/null || fail "man does not find $page"
done
inside bash -c '. /usr/share/bash-completion/completions/nightshift && complete -p nightshift' >/dev/null ||
    fail "bash has no completion"
exists /usr/share/zsh/site-functions/_nightshift
exists /usr/share/fish/vendor_completions.d/nightshift.fish
exists /usr/share/icons/hicolor/scalable/apps/nightshift.svg
desktop-file-validate "$root/usr/share/applications/nightshift.desktop" || fail "nightshift.desktop"
appstreamcli validate --no-net --pedantic "$root"/usr/share/metainfo/*nightshift*.xml >"$room/out" || fail "the metainfo: $(cat "$room/out")"
for link in default.target.wants/nightshiftd.service sockets.target.wants/nightshiftd.socket; do
    exists "/etc/systemd/user/$link"
done
ok "manual pages, completions, menu entry, metainfo and units are in place"

# Every link of a document leads to a file.
links() {
    local folder file link
    folder=$root/usr/share/doc/$1
    while read -r file; do
        # Code has brackets, too.
        sed '/^ *```/,/^ *```/d; s/`[^`]*`//g' "$file" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//; s/#.*//' |
            grep -vE '^$|^[a-z][a-z0-9+.-]*:' | while read -r link; do
            [ -e "$(dirname "$file")/$link" ] || [ -L "$(dirname "$file")/$link" ] || echo "${file#"$root"}: $link"
        done || true
    done < <(find "$folder" -name '*.md')
}
broken=$(links nightshift)
[ -z "$broken" ] || fail "links lead nowhere: $broken"
[ -s "$root/usr/share/doc/nightshift/docs/cli.md" ] || fail "there are no documents"
for unit in nightshiftd.service nightshiftd.socket nightshift-aria2.service nightshift-aria2.socket; do
    file=$(sed -n 's/^Documentation=.*file:\([^ ]*\).*/\1/p' "$root/usr/lib/systemd/user/$unit")
    [ -n "$file" ] || fail "$unit names no document"
    exists "$file"
done
ok "links of documents and units lead to files"

# 6. Removal, purge, and a new installation.
as_ada nightshift status >/dev/null || fail "the service does not run before the removal"
apt remove nightshift
[ -z "$(services)" ] || fail "a service runs after the removal"
gone /usr/bin/nightshiftd
gone /usr/share/doc/nightshift
exists /home/ada/.local/state/nightshift/nightshift.sqlite
apt purge nightshift
grep -q '~/.local/state/nightshift' "$room/log" || fail "purge does not say where the state is"
left=$(inside find / -xdev -path /root -prune -o -path '/proc' -prune -o -path '/home/*' -prune -o \
    -path /var/cache/apt/archives -prune -o -name '*nightshift*' -not -path '/srv/*' -print |
    grep -v '^/run/nightshift-test-origin.pid$' || true)
[ -z "$left" ] || fail "purge leaves $left"
cmp "$root/home/ada/downloads/large" "$root/srv/origin/large" || fail "purge took a download"
ok "remove stops the service; purge leaves state and downloads, and nothing else"

apt install "/root/new/nightshift_$version-1_$architecture.deb"
[ "$(as_ada nightshift list --all --json | grep -c '"state" *: *"completed"')" -eq 2 ] || fail "the history is lost"
rm "$root/home/ada/downloads/small"
as_ada nightshift get -d /home/ada/downloads $origin/small >"$room/out" 2>&1 || fail "get: $(cat "$room/out")"
cmp "$root/home/ada/downloads/small" "$root/srv/origin/small" || fail "the file of the new installation differs"
for recommended in ca-certificates xdg-utils dbus-user-session; do
    inside dpkg-query --status "$recommended" >/dev/null 2>&1 || fail "$recommended is not installed"
done
# With the recommended packages there is a systemd, which does not run.
inside env XDG_RUNTIME_DIR=/run systemd-analyze --user verify /usr/lib/systemd/user/nightshiftd.service >"$room/out" 2>&1 ||
    fail "systemd refuses the units: $(cat "$room/out")"
for unit in nightshiftd.service nightshiftd.socket; do
    [ "$(inside systemctl --global is-enabled $unit)" = enabled ] || fail "$unit is not enabled for users"
done
ok "a new installation finds the state of the purged one"

# An administrator's decision survives the next installation.
inside systemctl --quiet --global disable nightshiftd.service nightshiftd.socket
apt install --reinstall "/root/new/nightshift_$version-1_$architecture.deb"
for unit in nightshiftd.service nightshiftd.socket; do
    [ "$(inside systemctl --global is-enabled $unit || true)" = disabled ] || fail "the package enabled $unit again"
done
ok "units that the administrator disabled stay disabled"

# 7. The gateway.
if [ -e "$root/root/new/nightshift-gateway_$version-1_$architecture.deb" ]; then
    apt install "/root/old/nightshift-gateway_$previous-1_$architecture.deb"
    ! grep -qiE 'not found|swift' <<<"$(inside ldd /usr/bin/nightshift-gateway)" || fail "nightshift-gateway misses a library"
    [ "$(inside nightshift-gateway --version)" = "$version" ] || fail "nightshift-gateway --version is not $version"
    inside env MANPAGER=cat man -l /usr/share/man/man1/nightshift-gateway.1.gz | grep -q '^NAME' ||
        fail "nightshift-gateway has no manual page"
    unit=$(ls "$root"/lib/systemd/system/nightshift-gateway.service)
    grep -q '^ConditionPathExists=/etc/nightshift-gateway/tls.pem$' "$unit" || fail "the unit does not wait for a certificate"
    [ "$(inside systemctl is-enabled nightshift-gateway || true)" = disabled ] || fail "the gateway is enabled"
    inside systemd-analyze verify nightshift-gateway.service 2>&1 | grep nightshift-gateway && fail "systemd refuses the unit"
    zgrep -q 2197 "$root"/usr/share/doc/nightshift-gateway/NEWS.Debian.gz || fail "NEWS does not name the ports"
    echo 'OPTIONS=--public-name push.example.org' >"$root/etc/nightshift-gateway/options"
    echo certificate >"$root/etc/nightshift-gateway/tls.pem"
    apt install "/root/new/nightshift-gateway_$version-1_$architecture.deb"
    grep -q push.example.org "$root/etc/nightshift-gateway/options" || fail "the upgrade replaced changed options"
    broken=$(links nightshift-gateway)
    [ -z "$broken" ] || fail "links lead nowhere: $broken"
    apt purge nightshift-gateway
    gone /etc/nightshift-gateway/options
    gone /usr/bin/nightshift-gateway
    exists /etc/nightshift-gateway/tls.pem
    ok "the gateway is installed, upgraded with its options, and purged without its certificate"
else
    ok "no package of the gateway in .build-deb: not tested"
fi

ok "all of it holds"
