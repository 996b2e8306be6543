"""What a client in wide use makes of the laboratory: requests.

usage: lab_client.py get URL             prints `ok BODY`, or the name of the error that requests raises
       lab_client.py by-proxy PROXY URL  the same through a forward proxy
       lab_client.py sign KEY.pem ALG CLAIMS.json URL
                                         posts with a bearer token that PyJWT signs, prints the status
"""

import json
import sys

import jwt
import requests


def get(url, **more):
    try:
        answer = requests.get(url, timeout=60, **more)
    except requests.exceptions.RequestException as error:
        # The innermost error says what really happened.
        cause = error
        while cause.__cause__ or cause.__context__:
            cause = cause.__cause__ or cause.__context__
        print(type(error).__name__, type(cause).__name__)
    else:
        print("ok" if answer.ok else answer.status_code, answer.text)


def main():
    command, *rest = sys.argv[1:]
    if command == "get":
        get(rest[0])
    elif command == "by-proxy":
        get(rest[1], proxies={"http": rest[0], "https": rest[0]})
    elif command == "sign":
        key, algorithm, claims, url = rest
        with open(key, encoding="utf-8") as file:
            token = jwt.encode(json.loads(claims), file.read(), algorithm=algorithm, headers={"kid": "agent-key"})
        headers = {"authorization": f"Bearer {token}"}
        print(requests.post(url, json={"statusUpdate": {}}, headers=headers, timeout=60).status_code)


if __name__ == "__main__":
    main()
