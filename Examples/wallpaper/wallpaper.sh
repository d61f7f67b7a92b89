#!/bin/sh
# A wallpaper that fetches itself: the service downloads it while nothing of this script runs, and wakes the script when
# it is whole.
#
#   wallpaper.sh URL     asks for a picture, and ends
#   (woken)              puts the picture in its place; the exit status 0 says that it was taken
set -eu

directory=${WALLPAPER_DIRECTORY:-$HOME/.local/share/wallpaper}
app=org.example.Wallpaper
session=pictures

mkdir -p "$directory/incoming"

if [ -z "${NIGHTSHIFT_WAKE:-}" ]; then
    [ $# -eq 1 ] || {
        echo "usage: wallpaper.sh URL" >&2
        exit 2
    }
    exec nightshift get --app "$app" --session "$session" --detach -d "$directory/incoming" "$1"
fi

# Woken: everything that has arrived since the last time is in one place.
for picture in "$directory"/incoming/*; do
    [ -e "$picture" ] || continue
    mv "$picture" "$directory/current"
    echo "$(date -u +%FT%TZ) $NIGHTSHIFT_WAKE: $(basename "$picture")" >>"$directory/history"
done
