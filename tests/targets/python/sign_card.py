"""Signs an agent card with the official Python SDK.

usage: sign_card.py PRIVATE_KEY.pem ALG KID CARD.json [--jku URL]

Prints the signed card. The card goes through the SDK's own types, as that of an agent would.
"""

import argparse
import json

from a2a.types import AgentCard
from a2a.utils.signing import create_agent_card_signer
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from google.protobuf.json_format import MessageToDict, ParseDict


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("key")
    arguments.add_argument("alg")
    arguments.add_argument("kid")
    arguments.add_argument("card")
    arguments.add_argument("--jku")
    options = arguments.parse_args()

    with open(options.key, "rb") as file:
        key = load_pem_private_key(file.read(), password=None)
    with open(options.card, encoding="utf-8") as file:
        card = ParseDict(json.load(file), AgentCard(), ignore_unknown_fields=True)
    header = {"alg": options.alg, "kid": options.kid, "typ": "JOSE"}
    if options.jku:
        header["jku"] = options.jku
    signed = create_agent_card_signer(key, header)(card)
    print(json.dumps(MessageToDict(signed), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
