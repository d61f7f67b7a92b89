#!/usr/bin/env bash
# A push from its provider to the user's eyes, without internet: a gateway, a device, an app that does not run. An alert comes: the app
# fetches first, and then the alert is shown. Three silent pushes come: two pass, the third is held and rides along with the next alert.
# Twenty alerts come at one moment while a silent push is held: each is shown.
# Succeeds only if that is what happened, in this order. Expects debug builds; `make demo-push` makes them.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$PWD/.build/debug
gateway=$PWD/.build-gateway/debug/nightshift-gateway
room=$(mktemp -d "${TMPDIR:-/tmp}/nightshift-demo-push.XXXXXX")
export NIGHTSHIFT_HOME=$room/home HOME=$room
unset XDG_DATA_HOME http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
app=org.example.Mail
team=TEAM000001
key=KEY0000001
started=()

say() { printf '\n%s\n' "$*"; }

fail() {
    printf '\nThe demo failed: %s\n' "$*" >&2
    tail -n 20 "$room"/*.log >&2 || true
    exit 1
}

# Shows a command, and runs it.
tour() {
    printf '  $ %s\n' "${*//$room/\~}" | sed "s|$bin/||; s|$gateway|nightshift-gateway|"
    timeout 60 "$@" 2>&1 | sed "s|$room|~|g; s/^/  | /"
}

administer() { timeout 20 "$gateway" "$@" --socket "$room/gateway/admin.sock"; }

# Waits, for ten seconds at most, until a command succeeds.
until_true() {
    local what=$1
    shift
    for _ in $(seq 100); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    fail "$what"
}

tidy() {
    local process
    timeout 20 "$bin/nightshift" service stop >/dev/null 2>&1 || true
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    for process in "${started[@]}"; do wait "$process" 2>/dev/null || true; done
    rm -rf "$room"
}
trap tidy EXIT
trap 'exit 130' INT TERM

say "1. A gateway with its certificate, a team, a key and a topic."
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$room/tls.key" -out "$room/tls.pem" 2>"$room/openssl.log"
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$room/provider.p8" 2>>"$room/openssl.log"
mkdir "$room/gateway"
"$gateway" run --certificate "$room/tls.pem" --key "$room/tls.key" --state "$room/gateway" --providers 127.0.0.1:0 \
    --devices 127.0.0.1:0 --status 127.0.0.1:0 --public-name localhost >"$room/ports" 2>"$room/gateway.log" &
started+=($!)
until_true "the gateway does not start" grep -q providers= "$room/ports"
providers=$(sed -n 's/.*providers=\([0-9]*\).*/\1/p' "$room/ports")
administer team add $team 'Example Ltd' >/dev/null
administer key add $key "$room/provider.p8" --team $team >/dev/null
administer topic add $app --team $team >/dev/null
sed 's/^/  | /' "$room/ports"

say "2. A device: the service, a desktop that shows notifications, and an app that fetches its mail when it is woken."
# Of the demo's own: nobody's desktop is disturbed, and what was shown can be read.
dbus-daemon --session --nofork --print-address=3 3>"$room/address" 2>"$room/bus.log" &
started+=($!)
until_true "there is no session bus" test -s "$room/address"
DBUS_SESSION_BUS_ADDRESS=$(head -n 1 "$room/address")
export DBUS_SESSION_BUS_ADDRESS
# Debian's package is for Debian's Python.
/usr/bin/python3 -m dbusmock --session --template notification_daemon --logfile "$room/shown" 2>"$room/desktop.log" &
started+=($!)
until_true "the desktop does not come" dbus-send --session --print-reply --dest=org.freedesktop.Notifications \
    /org/freedesktop/Notifications org.freedesktop.Notifications.GetServerInformation
cat >"$room/fetch-mail" <<'SCRIPT'
sleep 1
echo "$(date +%s.%N) fetched for $(grep -o apns-note-[a-z0-9]* "$NIGHTSHIFT_PAYLOAD" | tr '\n' ' ')" >>~/fetched
SCRIPT
cat >"$room/$app.desktop" <<ENTRY
[Desktop Entry]
Type=Application
Name=Mail
Exec=sleep 60
X-Nightshift-Wake=bash $room/fetch-mail
X-Nightshift-BackgroundModes=remote-notification;
ENTRY
tour "$bin/nightshift" app install "$room/$app.desktop"
enrolment=$(administer enrolment create --name demo --json | sed -n 's/.*"url" *: *"\([^"]*\)".*/\1/p' | sed 's|\\/|/|g')
tour "$bin/nightshift" push enrol "$enrolment" --authority "$room/tls.pem"
token=$("$bin/nightshift" push token $app) || fail "there is no token"
tour "$bin/nightshift" app notifications $app --allow
echo "  Its token: $token"

# A provider's token: a JSON web token, signed with its key (RFC 7515).
bearer=$(
    python3 - "$room/provider.p8" $key $team <<'PYTHON'
import base64, json, subprocess, sys, time

def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

head = text(json.dumps({"alg": "ES256", "kid": sys.argv[2]}).encode())
claims = text(json.dumps({"iss": sys.argv[3], "iat": int(time.time())}).encode())
der = subprocess.run(["openssl", "dgst", "-sha256", "-sign", sys.argv[1]], input=f"{head}.{claims}".encode(),
                     capture_output=True, check=True).stdout
# Two numbers in DER become two of 32 bytes.
numbers, at = [], 2
for _ in range(2):
    length = der[at + 1]
    numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(32, "big"))
    at += 2 + length
print(f"{head}.{claims}.{text(b''.join(numbers))}")
PYTHON
)

# Sends a push as a provider does, and prints its apns-id.
push() {
    local payload=$1
    shift
    curl --silent --show-error --fail --max-time 20 --http2 --cacert "$room/tls.pem" -D "$room/head" -o "$room/answer" \
        -H "authorization: bearer $bearer" -H "apns-topic: $app" "$@" --data-binary "$payload" \
        "https://localhost:$providers/3/device/$token" || fail "the gateway refuses: $(cat "$room/answer")"
    sed -n 's/^apns-id: *\([^ \r]*\).*/\1/Ip' "$room/head"
}

fetches() { [ "$(grep -c fetched "$room/fetched" 2>/dev/null)" -ge "$1" ]; }
shown() { grep -q " Notify .*$1" "$room/shown"; }
# When the first line with a word was written.
moment() { grep -m 1 "$2" "$1" | cut -d ' ' -f 1; }
silent() { push "{\"aps\":{\"content-available\":1},\"note\":\"apns-note-$1\"}" -H 'apns-push-type: background' -H 'apns-priority: 5'; }

say "3. An alert with content-available: the app fetches its content first, and then the alert is shown."
alert=$(push '{"aps":{"alert":{"title":"Dear reader","body":"You have mail"},"content-available":1},"note":"apns-note-alert1"}' \
    -H 'apns-push-type: alert')
until_true "the alert is not shown" shown 'Dear reader'
fetches 1 || fail "the alert was shown, and the app has not fetched"
awk -v fetched="$(moment "$room/fetched" apns-note-alert1)" -v shown="$(moment "$room/shown" 'Dear reader')" \
    'BEGIN { printf "  The app had fetched %.3f s before the alert was shown.\n", shown - fetched; exit shown < fetched }' ||
    fail "the alert came before the app had fetched"
grep ' Notify ' "$room/shown" | sed 's/^[0-9.]* /  | /'
tour "$gateway" push show "$alert" --socket "$room/gateway/admin.sock"

say "4. Three silent pushes in a row: two are delivered, and the third is held back by the rate limit."
first=$(silent one)
until_true "the first does not come" fetches 2
second=$(silent two)
until_true "the second does not come" fetches 3
third=$(silent three)
administer push show "$third" | grep -q 'Held' || fail "the third is not held"
tour "$gateway" push show "$third" --socket "$room/gateway/admin.sock"

say "5. The next alert delivers the held push too."
push '{"aps":{"alert":"And another one"}}' -H 'apns-push-type: alert' >"$room/last"
until_true "the third does not ride along" fetches 4
grep -q apns-note-three "$room/fetched" || fail "the third did not reach the app"
until_true "the alert is not shown" shown 'And another one'
[ "$(grep -c ' Notify ' "$room/shown")" = 2 ] || fail "a silent push was shown"
for id in "$first" "$second" "$third" "$(cat "$room/last")"; do
    tour "$gateway" push show "$id" --socket "$room/gateway/admin.sock"
done

say "6. Twenty alerts at one moment, while a silent push is held."
held=$(silent four)
administer push show "$held" | grep -q 'Held' || fail "the fourth is not held"
for number in $(seq 20); do
    printf 'next\nurl = "https://localhost:%s/3/device/%s"\ndata = "{\\"aps\\":{\\"alert\\":\\"Burst %02d.\\"}}"\n' \
        "$providers" "$token" "$number"
    printf 'header = "authorization: bearer %s"\nheader = "apns-topic: %s"\nheader = "apns-push-type: alert"\n' "$bearer" $app
    printf 'http2\nfail\nsilent\nshow-error\nmax-time = 20\ncacert = "%s"\noutput = "%s"\n' "$room/tls.pem" "$room/answer"
done | sed 1d >"$room/burst"
curl --parallel --parallel-max 20 --config "$room/burst" || fail "the gateway refuses an alert of the burst"
bursts() { [ "$(grep -o ' Notify .*Burst [0-9]*\.' "$room/shown" | grep -o 'Burst [0-9]*' | sort -u | wc -l)" -ge 20 ]; }
until_true "not each of the twenty alerts is shown" bursts
echo "  | $(grep -c 'Burst' "$room/shown") were shown."
tour "$bin/nightshift" push why $app
say "Result: alerts were shown after their content was fetched, silent pushes stayed within their limit, and no push was lost."
