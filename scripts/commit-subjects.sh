#!/usr/bin/env bash
# Checks the subjects of all commits after the one that added .gitmessage: `area: verb object`, at most 72 characters.
# Usage: scripts/commit-subjects.sh [RANGE]
set -euo pipefail

if ! git rev-parse --git-dir >/dev/null 2>&1; then
    echo "Not a git repository: no commit subjects to check."
    exit 0
fi

if [ $# -gt 0 ]; then
    range=$1
else
    first=$(git log --diff-filter=A --format=%H -- .gitmessage | tail -n 1)
    [ -n "$first" ] || exit 0
    range=$first..HEAD
fi

# This commit was shared before its subject, "local API: …", was checked.
shared=75f49666e4f56d6ee243171388fb4b8cc9800f59

failed=0
while IFS=$'\t' read -r hash subject; do
    [[ $shared != "$hash"* ]] || continue
    problem=
    if [ "${#subject}" -gt 72 ]; then
        problem="is ${#subject} characters long; at most 72 are allowed"
    elif ! [[ $subject =~ ^[a-z][a-z0-9\ ,/-]*:\ [a-z] ]]; then
        problem="does not have the form \"area: verb object\""
    elif [[ $subject =~ \.$ ]]; then
        problem="ends in a full stop"
    elif [[ $subject =~ ^[^:]*:\ (adds|added|adding|changes|changed|changing|fixes|fixed|fixing|removes|removed|removing|makes|made|making)\  ]]; then
        problem="is not imperative: \"${BASH_REMATCH[1]}\""
    fi
    if [ -n "$problem" ]; then
        printf 'Commit %s %s:\n    %s\n' "$hash" "$problem" "$subject" >&2
        failed=1
    fi
done < <(git log --format='%h%x09%s' "$range")

if [ "$failed" -ne 0 ]; then
    echo 'Reword them with "git rebase -i" before they are shared.' >&2
fi
exit "$failed"
