#!/usr/bin/env bash
# One quarantine, two routers of different kinds, and the proof that both obey.
#
#   an SDK agent is admitted by real verification
#   router 1: the proxy of crates/router/examples, which embeds the router library
#   router 2: nginx with auth_request, which asks `ostiary sidecar`
#   both let a message through; the version is quarantined with --wait; both refuse
#
# Starts everything on free ports of 127.0.0.1, stops everything it started, and ends with 0 only if all of it was so.
# Before: cargo build && cargo build -p ostiary-router --example checking_proxy && cargo xtask setup
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
ostiary=${OSTIARY:-$root/target/debug/ostiary}
proxy=${CHECKING_PROXY:-$root/target/debug/examples/checking_proxy}
python=${AGENT_PYTHON:-$root/target/targets/python/bin/python}
nginx=${NGINX:-$(PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v nginx || true)}
script=$root/tests/targets/python/text_statistics_agent.py

agent=acme/text-statistics version=1.0.0 profile=a2a-jsonrpc-1.0
work=$(mktemp -d)
started=()

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
    bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' dim=$'\e[2m' plain=$'\e[0m'
else
    bold='' green='' red='' dim='' plain=''
fi

say() { printf '%s\n' "$bold$*$plain"; }
note() { printf '  %s\n' "$dim$*$plain"; }
fail() {
    printf '%s\n' "${red}surprise: $*$plain" >&2
    for log in "$work"/*.log; do
        [[ -s $log ]] && { printf '%s\n' "--- ${log##*/}" >&2 && tail -n 15 "$log" >&2; }
    done
    exit 1
}

clean_up() {
    for id in "${started[@]}"; do
        kill -TERM "$id" 2>/dev/null || true
    done
    for id in "${started[@]}"; do
        wait "$id" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# start NAME COMMAND…: in the background, output in NAME.out and NAME.log
start() {
    local name=$1
    shift
    "$@" >"$work/$name.out" 2>"$work/$name.log" </dev/null &
    started+=($!)
}

# until_so SECONDS COMMAND…: waits until the command succeeds
until_so() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || return 1
        sleep 0.1
    done
}

# field FILE NAME: one member of a JSON object
field() { "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }
fetch() { "$python" -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=5).read().decode())' "$1"; }
free_port() { "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# quietly NAME COMMAND…: must end with 0
quietly() {
    local name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 || fail "$name did not go through"
    rm "$work/$name.log"
}

# dispatch URL: sends the agent a message; prints `STATUS WORD`, the word being the task's state or the reason
dispatch() {
    "$python" - "$1" <<'PYTHON'
import json, sys, urllib.error, urllib.request

message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "the quick brown fox"}]}
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}).encode()
headers = {"content-type": "application/json", "a2a-version": "1.0"}
try:
    with urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/rpc", body, headers), timeout=20) as answer:
        said = json.load(answer)
        print(answer.status, said["result"]["task"]["status"]["state"] if "result" in said else "ERROR")
except urllib.error.HTTPError as refused:
    try:
        reason = json.load(refused).get("code")
    except ValueError:
        reason = None
    print(refused.code, refused.headers.get("x-ostiary-reason") or reason or "REFUSED")
except OSError as error:
    print("000", type(error).__name__)
PYTHON
}

is_let_through() { [[ $(dispatch "$1") == "200 TASK_STATE_COMPLETED" ]]; }

# row NAME URL EXPECTED: one line of the table; anything unexpected ends the script
row() {
    local said colour=$green
    said=$(dispatch "$2")
    [[ $said == "$3" ]] || colour=$red
    printf '  %-42s %s%-5s %s%s\n' "$1" "$colour" "${said%% *}" "${said#* }" "$plain"
    [[ $said == "$3" ]] || fail "$1 answered \`$said\` instead of \`$3\`"
}

for program in "$ostiary" "$proxy" "$python" "$nginx"; do
    [[ -x $program ]] || { echo "\`${program:-nginx}\` is missing; see the head of $0" >&2 && exit 4; }
done

say "1. An agent, and a control plane that knows nothing of it"
agent_port=$(free_port)
start agent "$python" "$script" --port "$agent_port"
printf 'admin-%s' "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" >"$work/admin"
printf 'router-%s' "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" >"$work/router"
cat >"$work/ostiary.yaml" <<YAML
data_dir: $work/data
development_namespaces: [acme]
http: { listen: "127.0.0.1:0" }
grpc: { listen: "127.0.0.1:0" }
tokens:
  - { name: olga, person: true, file: $work/admin, roles: [admin], namespaces: ["*"] }
  - { name: routers, file: $work/router, roles: [router], namespaces: ["*"] }
YAML
start server "$ostiary" serve --config "$work/ostiary.yaml" --format json
until_so 60 field "$work/server.out" grpc || fail "the control plane did not start"
http=$(field "$work/server.out" http) grpc=$(field "$work/server.out" grpc)
card=http://127.0.0.1:$agent_port/.well-known/agent-card.json
until_so 90 fetch "$card" || fail "the agent does not serve its card"
note "agent $card"
note "control plane $http, $grpc"

say "2. Admitted on evidence: DRAFT to ACTIVE by real runs"
export OSTIARY_SERVER=$http OSTIARY_TOKEN_FILE=$work/admin
which=(--agent "$agent" --version "$version")
quietly bundle "$ostiary" bundle init --card "$card" --allow-private --allow-insecure-http --artifact "$script" \
    --out "$work/bundle"
quietly namespace "$ostiary" namespace put acme
quietly create "$ostiary" agent create "$agent"
quietly environment "$ostiary" environment put "$work/bundle.environment.yaml"
quietly submit "$ostiary" version submit --namespace acme --bundle "$work/bundle" --env text-statistics --wait
quietly canary "$ostiary" version promote "${which[@]}" --to canary --reason "first version" --wait
quietly active "$ostiary" version promote "${which[@]}" --to active --reason "canary is quiet" --wait
digest=$("$ostiary" card digest "$work/bundle/agent-card.json")
note "$agent $version, card $digest"

say "3. Two routers in front of it"
fetch "$http/.well-known/ostiary-keys.json" >"$work/keys.json" || fail "the control plane publishes no keys"
ROUTER_TOKEN=$(cat "$work/router")
export ROUTER_TOKEN
start proxy "$proxy" --agent "$agent" --version "$version" --profile "$profile" --control-plane "$grpc" \
    --upstream "http://127.0.0.1:$agent_port" --token-env ROUTER_TOKEN --trust "$work/keys.json" --router-id library
start sidecar "$ostiary" sidecar --control-plane "$grpc" --token-env ROUTER_TOKEN --trust "$work/keys.json" \
    --listen 127.0.0.1:0 --http 127.0.0.1:0 --router-id sidecar --format json
until_so 30 field "$work/sidecar.out" http || fail "the sidecar did not start"
nginx_port=$(free_port)
mkdir "$work/nginx"
question="agent=$agent\&version=$version\&card-digest=$digest\&profile=$profile"
sed -e "s|server .*; # AGENT|server 127.0.0.1:$agent_port;|" -e "s|server .*; # SIDECAR|server $(field "$work/sidecar.out" http);|" \
    -e "s|listen .*; # LISTEN|listen 127.0.0.1:$nginx_port;|" \
    -e "s|proxy_pass .*; # QUESTION|proxy_pass http://sidecar/forward-auth?$question;|" \
    "$root/deploy/examples/nginx/nginx.conf" >"$work/nginx/nginx.conf"
as_root='' && [[ $(id -u) == 0 ]] && as_root='user root;'
start nginx "$nginx" -p "$work/nginx" -c nginx.conf -g "daemon off; $as_root"
until_so 30 grep -q listening "$work/proxy.out" || fail "the proxy did not start"
library=$(sed -n 's/^listening on //p' "$work/proxy.out") gateway=http://127.0.0.1:$nginx_port
until_so 30 is_let_through "$library" || fail "the proxy lets nothing through: $(dispatch "$library")"
until_so 30 is_let_through "$gateway" || fail "nginx lets nothing through: $(dispatch "$gateway")"
row "router library, $library" "$library" "200 TASK_STATE_COMPLETED"
row "nginx, $gateway" "$gateway" "200 TASK_STATE_COMPLETED"

say "4. Off the road, and waited for until no router can decide otherwise"
"$ostiary" version quarantine "${which[@]}" --reason "sends mail that it does not declare" --wait 30 |
    sed 's/^/  /' || fail "the quarantine is not proved"

say "5. The very next dispatch"
row "router library, $library" "$library" "403 QUARANTINED"
row "nginx, $gateway" "$gateway" "403 QUARANTINED"

printf '%s\n' "${green}Both refuse.$plain"
