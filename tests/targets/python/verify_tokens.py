"""Verifies access tokens as a careful resource server does: PyJWT, keys by OpenID Connect discovery.

usage: verify_tokens.py careful|trusting ISSUER AUDIENCE < TOKENS

Prints `valid SUBJECT` or `invalid` for each line, in order. `trusting` reads claims and looks at no signature: what must
not be done, so that a test can tell that a refused token was refused for its signature.
"""

import sys

import jwt
import requests


def main():
    mode, issuer, audience = sys.argv[1:]
    metadata = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=30).json()
    if metadata["issuer"] != issuer:
        sys.exit("the metadata is another issuer's")
    keys = jwt.PyJWKClient(metadata["jwks_uri"])
    algorithms = metadata["id_token_signing_alg_values_supported"]
    for line in sys.stdin:
        token = line.strip()
        try:
            if mode == "careful":
                key = keys.get_signing_key_from_jwt(token).key
                claims = jwt.decode(token, key, algorithms=algorithms, issuer=issuer, audience=audience)
            else:
                claims = jwt.decode(
                    token,
                    options={"verify_signature": False, "verify_exp": True, "verify_nbf": True, "verify_aud": True,
                             "verify_iss": True},
                    issuer=issuer,
                    audience=audience,
                )
        except jwt.PyJWTError:
            print("invalid")
        else:
            print("valid", claims["sub"])


if __name__ == "__main__":
    main()
