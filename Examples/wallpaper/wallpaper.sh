#!/bin/sh
# A wallpaper that updates itself. The service downloads the wallpaper while this script does not run, and wakes the
# script when the download is complete.
#
#   wallpaper.sh URL     requests a picture, and exits
#   (woken)              moves the picture to its place, and confirms this with the exit status 0
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

# The service has woken the script. All files that arrived since the last wake are in one folder.
for picture in "$directory"/incoming/*; do
    [ -e "$picture" ] || continue
    mv "$picture" "$directory/current"
    echo "$(date -u +%FT%TZ) $NIGHTSHIFT_WAKE: $(basename "$picture")" >>"$directory/history"
done
