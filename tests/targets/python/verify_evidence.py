"""Verifies DSSE envelopes with libraries that are not ours: signature, statement, predicate.

usage: verify_evidence.py PUBLIC_KEY.pem ENVELOPE.json...
"""

import json
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.v1 import statement
from in_toto_attestation.v1 import statement_pb2
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

INTOTO = "application/vnd.in-toto+json"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"


def main():
    key_file, *envelopes = sys.argv[1:]
    with open(key_file, "rb") as file:
        public = load_pem_public_key(file.read())
    for path in envelopes:
        with open(path, encoding="utf-8") as file:
            raw = json.load(file)
        envelope = Envelope.from_dict(raw)
        key = SSlibKey.from_crypto(public, keyid=raw["signatures"][0]["keyid"])
        accepted = envelope.verify([key], 1)
        if not accepted or envelope.payload_type != INTOTO:
            sys.exit(f"{path}: not accepted")
        body = json.loads(envelope.payload)
        parsed = json_format.Parse(envelope.payload, statement_pb2.Statement())
        statement.Statement.copy_from_pb(parsed).validate()
        if body["predicateType"] == TEST_RESULT:
            json_format.ParseDict(body["predicate"], test_result_pb2.TestResult())
        tampered = Envelope.from_dict({**raw, "payload": raw["payload"]})
        tampered.payload = envelope.payload.replace(b"sha256", b"sha255", 1)
        try:
            tampered.verify([key], 1)
        except VerificationError:
            print(f"{path}: verified {body['predicateType']}; a changed payload is refused")
        else:
            sys.exit(f"{path}: a changed payload was accepted")


if __name__ == "__main__":
    main()
