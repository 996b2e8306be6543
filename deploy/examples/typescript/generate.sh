#!/usr/bin/env bash
# Writes the messages and the client of the API into ./generated. Any protoc will do: PROTOC="python3 -m grpc_tools.protoc".
# They are not kept in the repository, so that they can never be those of another contract than proto/.
set -euo pipefail
cd "$(dirname "$0")"
proto=${PROTO:-../../../proto}
mkdir -p generated
# shellcheck disable=SC2086 # PROTOC may be a program with arguments
${PROTOC:-protoc} --proto_path="$proto" --plugin=protoc-gen-ts_proto=node_modules/.bin/protoc-gen-ts_proto \
    --ts_proto_out=generated \
    --ts_proto_opt=outputServices=grpc-js,esModuleInterop=true,importSuffix=.js,env=node,useOptionals=none,oneof=unions,forceLong=bigint,outputJsonMethods=false \
    ostiary/admission/v1/types.proto ostiary/admission/v1/watch.proto ostiary/admission/v1/admission.proto
