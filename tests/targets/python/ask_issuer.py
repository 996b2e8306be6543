"""Gets a token by client credentials, asks about it, calls it in and asks again: requests, by discovery.

usage: ask_issuer.py ISSUER CLIENT_ID CLIENT_SECRET

Prints a JSON list: the token's scope, active before, status of the revocation, active afterwards.
"""

import json
import sys

import requests


def main():
    issuer, client, secret = sys.argv[1:]
    metadata = requests.get(f"{issuer}/.well-known/oauth-authorization-server", timeout=30).json()

    def post(endpoint, **form):
        return requests.post(metadata[endpoint], data=form, auth=(client, secret), timeout=30)

    granted = post("token_endpoint", grant_type="client_credentials").json()
    token = granted["access_token"]
    before = post("introspection_endpoint", token=token).json()["active"]
    revoked = post("revocation_endpoint", token=token).status_code
    after = post("introspection_endpoint", token=token).json()["active"]
    print(json.dumps([granted["scope"], before, revoked, after]))


if __name__ == "__main__":
    main()
