"""Verifies DSSE envelopes with libraries that are not ours: signature, statement, predicate.

usage: verify_evidence.py PUBLIC_KEY.pem ENVELOPE.json...

Each envelope is also tried with another payload, which must be refused.
"""

import hashlib
import json
import sys

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.v1 import statement
from in_toto_attestation.v1 import statement_pb2
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

INTOTO = "application/vnd.in-toto+json"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"


def load(path):
    """A key under its own name, the digest of its SPKI; the envelope has no say in that."""
    with open(path, "rb") as file:
        public = load_pem_public_key(file.read())
    spki = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return SSlibKey.from_crypto(public, keyid=hashlib.sha256(spki).hexdigest())


def main():
    key_file, *envelopes = sys.argv[1:]
    key = load(key_file)
    for path in envelopes:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        # The library takes apart what it is given, so each try reads the text again.
        envelope = Envelope.from_dict(json.loads(text))
        accepted = envelope.verify([key], 1)
        if not accepted or envelope.payload_type != INTOTO:
            sys.exit(f"{path}: not accepted")
        body = json.loads(envelope.payload)
        parsed = json_format.Parse(envelope.payload, statement_pb2.Statement())
        statement.Statement.copy_from_pb(parsed).validate()
        if body["predicateType"] == TEST_RESULT:
            json_format.ParseDict(body["predicate"], test_result_pb2.TestResult())
        tampered = Envelope.from_dict(json.loads(text))
        tampered.payload = envelope.payload.replace(b"sha256", b"sha255", 1)
        if tampered.payload == envelope.payload:
            sys.exit(f"{path}: nothing to change")
        try:
            tampered.verify([key], 1)
        except VerificationError:
            print(f"{path}: verified {body['predicateType']}; a changed payload is refused")
        else:
            sys.exit(f"{path}: a changed payload was accepted")


if __name__ == "__main__":
    main()
