#!/bin/sh
# A script that runs only when the device enters a region. Between two runs, the receiver is on only for seconds.
#
#   arrivals.sh     prints the times and regions of past events
#   (woken)         records the event, and runs ~/.config/arrivals/PLACE if that program exists
#
# The script needs jq, which reads the JSON of the wake.
set -eu

directory=${ARRIVALS_DIRECTORY:-$HOME/.local/share/arrivals}
programs=${ARRIVALS_PROGRAMS:-$HOME/.config/arrivals}
history=$directory/history

if [ -z "${NIGHTSHIFT_WAKE:-}" ]; then
    [ -e "$history" ] || {
        echo "The device has not entered a region yet. 'nightshift region list --app org.example.Arrivals' lists the regions." >&2
        exit 0
    }
    exec cat "$history"
fi

# A launch may have several reasons. This script handles only this one.
case ",$NIGHTSHIFT_WAKE," in
*,region,*) ;;
*) exit 0 ;;
esac

mkdir -p "$directory"
status=0
# One line for each event: time, kind and region. A tab or line feed in an identifier is escaped and does not split the line.
events=$(jq -r '.[] | select(.region != null) | [.time, .kind, .region.identifier] | @tsv' "$NIGHTSHIFT_PAYLOAD")
tab=$(printf '\t')
while IFS=$tab read -r time kind region; do
    [ -n "$region" ] || continue
    # An event is delivered again after a failure, but is recorded only once.
    grep -qsxF "$time $kind $region" "$history" || echo "$time $kind $region" >>"$history"
    [ "$kind" = entered ] || continue
    # The name must be plain, so that it cannot name a program in another directory.
    case $region in */* | .*) continue ;; esac
    program=$programs/$region
    [ ! -x "$program" ] || "$program" || status=$?
done <<EOF
$events
EOF
# Any status other than 0 reports a failure, and the service tries again.
exit "$status"
