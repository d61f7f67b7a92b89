#!/bin/sh
# A script that runs when the device comes to a place: nothing of it runs in between, and the receiver is on for seconds.
#
#   arrivals.sh     shows when the device came where
#   (woken)         writes it down, and runs ~/.config/arrivals/PLACE where there is such a program
#
# Needs jq, which reads the JSON of the wake.
set -eu

directory=${ARRIVALS_DIRECTORY:-$HOME/.local/share/arrivals}
programs=${ARRIVALS_PROGRAMS:-$HOME/.config/arrivals}
history=$directory/history

if [ -z "${NIGHTSHIFT_WAKE:-}" ]; then
    [ -e "$history" ] || {
        echo "The device has come nowhere yet. 'nightshift region list --app org.example.Arrivals' shows where it may." >&2
        exit 0
    }
    exec cat "$history"
fi

# One launch may be for several reasons; this script has one.
case ",$NIGHTSHIFT_WAKE," in
*,region,*) ;;
*) exit 0 ;;
esac

mkdir -p "$directory"
status=0
# One line for each crossing: when, what, which region. An identifier with a tab or a line feed in it is not taken apart.
events=$(jq -r '.[] | select(.region != null) | [.time, .kind, .region.identifier] | @tsv' "$NIGHTSHIFT_PAYLOAD")
tab=$(printf '\t')
while IFS=$tab read -r time kind region; do
    [ -n "$region" ] || continue
    # What failed comes again: it is not written down twice.
    grep -qsxF "$time $kind $region" "$history" || echo "$time $kind $region" >>"$history"
    [ "$kind" = entered ] || continue
    # A name, and no way out of the directory.
    case $region in */* | .*) continue ;; esac
    program=$programs/$region
    [ ! -x "$program" ] || "$program" || status=$?
done <<EOF
$events
EOF
# Anything but 0 says that it failed, and is tried again.
exit "$status"
