#!/usr/bin/env bash
# Writes the messages and stubs of the API into a folder: ./generate.sh FOLDER [PYTHON]
# They are not kept in the repository, so that they can never be those of another contract than proto/.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
proto=$(cd "$here/../../../proto" && pwd)
out=${1:?"name the folder to write to"}
python=${2:-python3}
mkdir -p "$out"
"$python" -m grpc_tools.protoc --proto_path="$proto" --python_out="$out" --pyi_out="$out" --grpc_python_out="$out" \
    ostiary/admission/v1/types.proto ostiary/admission/v1/watch.proto ostiary/admission/v1/admission.proto
