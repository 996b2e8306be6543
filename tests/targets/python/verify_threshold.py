"""Verifies DSSE envelopes by a threshold of keys, with a library that is not ours.

usage: verify_threshold.py THRESHOLD ENVELOPE.json PUBLIC_KEY.pem...

Prints `accepted N`, N being the number of different keys that signed, or `refused`.
"""

import hashlib
import json
import sys

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey


def key(path):
    with open(path, "rb") as file:
        public = load_pem_public_key(file.read())
    spki = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return SSlibKey.from_crypto(public, keyid=hashlib.sha256(spki).hexdigest())


def main():
    threshold, envelope, *keys = sys.argv[1:]
    with open(envelope, encoding="utf-8") as file:
        raw = json.load(file)
    try:
        # The library takes each key id once and refuses an envelope that names one twice.
        accepted = Envelope.from_dict(raw).verify([key(path) for path in keys], int(threshold))
    except (VerificationError, ValueError):
        print("refused")
    else:
        print(f"accepted {len(accepted)}")


if __name__ == "__main__":
    main()
