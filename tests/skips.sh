#!/usr/bin/env bash
# skips.sh LOG LIST: fails when LOG (written by the tests, one `name: reason` a line) names a test that
# does not stand on LIST (one `name: why it may be skipped` a line).
set -euo pipefail
log=$1 list=$2 status=0
[ -s "$log" ] || { echo "skips: none"; exit 0; }
while IFS= read -r line; do
  name=${line%%:*}
  if grep -q "^$name:" "$list"; then
    echo "skips: $line"
  else
    echo "skips: $line -- not on $list, so this is a failure" >&2
    status=1
  fi
done < <(sort -u "$log")
exit $status
