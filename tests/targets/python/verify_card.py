"""Verifies signed agent cards with the official Python SDK.

usage: verify_card.py KEYS.jwks.json CARD.json...

Prints `valid` or `invalid` for each card, in order.
"""

import json
import sys

import jwt
from a2a.types import AgentCard
from a2a.utils.signing import SignatureVerificationError, create_signature_verifier
from google.protobuf.json_format import ParseDict


def main():
    keys_file, *cards = sys.argv[1:]
    with open(keys_file, encoding="utf-8") as file:
        keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(json.load(file)).keys}

    def key_of(kid, _jku):
        if kid not in keys:
            raise jwt.InvalidKeyError(f"unknown key {kid}")
        return keys[kid]

    verify = create_signature_verifier(key_of, ["EdDSA", "ES256", "RS256"])
    for path in cards:
        with open(path, encoding="utf-8") as file:
            card = ParseDict(json.load(file), AgentCard(), ignore_unknown_fields=True)
        try:
            verify(card)
        except SignatureVerificationError:
            print("invalid")
        else:
            print("valid")


if __name__ == "__main__":
    main()
