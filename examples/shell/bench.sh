#!/bin/sh
# A bench of the mock from the shell: rows, calls, a fault and a clock of its own, with nothing but curl, grep and sed.
#
#   trigger-mock                   (in another terminal)
#   sh examples/shell/bench.sh
set -eu

url=${TRIGGER_MOCK_URL:-http://127.0.0.1:8900}
control=$url/_mock

# What a request to the control plane needs; fails when it is declined.
ask() {
    method=$1 path=$2
    shift 2
    curl -sS --fail-with-body --max-time 30 -X "$method" -H 'Content-Type: application/json' "$control$path" "$@"
}

# The first text or number of this name in the JSON on stdin.
field() {
    grep -oE "\"$1\": *(\"[^\"]*\"|[^,}\"]+)" | head -n 1 | sed 's/^[^:]*: *//; s/"//g'
}

# The client under test: prints the status of its call.
recall() {
    curl -sS --max-time 30 -o "$work/answer" -w '%{http_code}\n' -H "x-api-key: $key" \
        -H 'Content-Type: application/json' "$url/v1/memories/trigger" \
        -d '{"user_id": "user-123", "mode": "retrieve", "entities": ["tool_loop.py"]}'
}

work=$(mktemp -d)
ask POST /benches -d '{"fixtures": {"organisations": {"tests": {"rate_limit": "4/minute", "keys": ["any"]}}}}' >"$work/made"
bench=$(field name <"$work/made")
key=$(field api_key <"$work/made")
trap 'ask DELETE "/benches/$bench"; rm -r "$work"' EXIT

echo 'a row of this bench alone'
ask POST "/benches/$bench/rows" -d '{"type": "lesson", "user_id": "user-123",
    "text": "Call finalize() in a finally block.", "trigger_entities": ["tool_loop.py"]}' >"$work/row"
recall
field text <"$work/answer"

echo 'a fault for the next call, and for no other'
ask POST "/benches/$bench/faults" -d '{"fault": {"kind": "error", "status": 503}, "times": 1}' >"$work/fault"
recall
recall

echo 'calls that the journal holds, once there are three'
ask GET "/benches/$bench/calls/wait?count=3&timeout=5" | field matching

echo 'beyond the rate, and in the next minute'
ask PUT "/benches/$bench/clock" -d '{"frozen": true}' >"$work/clock"
recall
recall
ask POST "/benches/$bench/clock/advance" -d '{"seconds": 60}' >"$work/clock"
recall
