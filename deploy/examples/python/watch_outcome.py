"""Prints the decision about one dispatch, and again each time it changes.

    python watch_outcome.py --target 127.0.0.1:8431 --agent acme/text --version 1.0.0 \
        --card-digest sha256:… --profile a2a-jsonrpc-1.0

Never goes back in time: each question asks for a view no older than the last answer's. Ends with 1 on the first denial
with `--until-denied`, so that a script can wait for a quarantine.
"""

import argparse
import os
import sys
import time

from ostiary_client import Admissions


def main() -> int:
    options = arguments()
    question = {"agent": options.agent, "version": options.version, "card_digest": options.card_digest}
    question["profile"] = options.profile
    last, revision = None, 0
    with Admissions(options.target, os.environ.get(options.token_env)) as admissions:
        for _ in range(options.times):
            verdict = admissions.check(**question, at_least=revision)
            revision = max(revision, verdict.revision or 0)
            word = "ALLOW" if verdict.holds() else "DENY"
            if (word, verdict.reason) != last:
                last = (word, verdict.reason)
                print(word, verdict.reason, f"revision={revision}", verdict.detail or "", flush=True)
            if options.until_denied and word == "DENY":
                return 1
            time.sleep(options.every)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="127.0.0.1:8431")
    parser.add_argument("--token-env", default="OSTIARY_TOKEN", help="variable with the token; a sidecar asks for none")
    for name in ("--agent", "--version", "--card-digest", "--profile"):
        parser.add_argument(name, required=True)
    parser.add_argument("--every", type=float, default=0.2, help="seconds between questions")
    parser.add_argument("--times", type=int, default=10_000, help="questions at most")
    parser.add_argument("--until-denied", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
