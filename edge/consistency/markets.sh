#!/usr/bin/env bash
# Checks what running nodes answer against itself: frozen markets of two seeds
# and one that goes on, one node at a time. Prints a line for each; ends with 1
# when a value differs, a check does not finish, or too little was compared.
#
#	edge/consistency/markets.sh [BINARY]
set -euo pipefail

binary=$(realpath "${1:-./tidemark}")
least=1000000 # values of each market that have to be compared
dir=$(mktemp -d)
node=

# The node is stopped and waited for: it writes to the directory to the end.
stop() {
  if [ -n "$node" ]; then
    kill "$node" 2>/dev/null || true
    wait "$node" 2>/dev/null || true
    node=
  fi
}
trap 'stop; rm -rf "$dir"' EXIT

# field prints a number that stands at the top of a report.
field() { sed -n "s/^  \"$1\": \([0-9]*\).*/\1/p" "$2"; }

# check SEED FROZEN POSITIONS: one market.
check() {
  local seed=$1 frozen=$2 positions=$3 data=$dir/$1 started=$SECONDS
  TIDEMARK_SIM_SEED=$seed TIDEMARK_SIM_FROZEN=$frozen TIDEMARK_SIM_POSITIONS=$positions \
    "$binary" serve --data "$data" --listen 127.0.0.1:0 --ops-listen 127.0.0.1:0 > "$dir/log" 2>&1 &
  node=$!

  local url=
  for _ in $(seq 600); do
    if "$binary" ready --data "$data" > /dev/null 2>&1; then break; fi
    sleep 0.1
  done
  url=$(sed -n 's/.*"msg":"listening","api":"\([^"]*\)".*/\1/p' "$dir/log")

  local key
  key=$("$binary" keys issue --account demo --data "$data" | grep -o 'tm_srv_[0-9A-Za-z]*')
  local ended=0
  TIDEMARK_CHECK_KEY=$key "$binary" check --url "$url" --json > "$dir/report.json" || ended=$?
  stop

  local values
  values=$(field values "$dir/report.json")
  echo "seed $seed, frozen $frozen: $values values, $(field different "$dir/report.json") different," \
    "$(field positions "$dir/report.json") positions, $(field pools "$dir/report.json") pools," \
    "$((SECONDS - started)) s"
  if [ "$ended" -ne 0 ] || [ "$values" -lt "$least" ]; then
    sed -n '/"differences"/,$p' "$dir/report.json" | head -60
    tail -5 "$dir/log"
    exit 1
  fi
}

check 1 true 400
check 2 true 250
check 3 false 250
