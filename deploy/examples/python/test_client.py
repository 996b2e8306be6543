"""What the client makes of every kind of answer, and of none: python -m unittest test_client"""

import socket
import unittest
from concurrent import futures
from datetime import datetime, timedelta, timezone

import grpc
from ostiary.admission.v1 import admission_pb2, admission_pb2_grpc, types_pb2
from ostiary_client import Admissions, Verdict, read

QUESTION = {"agent": "acme/text", "version": "1.0.0", "card_digest": "sha256:" + "a" * 64, "profile": "a2a-jsonrpc-1.0"}
ALLOW, DENY = types_pb2.OUTCOME_ALLOW, types_pb2.OUTCOME_DENY


class Decides(admission_pb2_grpc.AdmissionServiceServicer):
    """A decision point that says what a test tells it to."""

    def __init__(self, say):
        self.say, self.asked, self.credentials = say, [], []

    def CheckAdmission(self, request, context):
        self.asked.append(request)
        self.credentials.append(dict(context.invocation_metadata()).get("authorization"))
        return self.say(context)


def answer(outcome, reason, seconds=60):
    message = admission_pb2.CheckAdmissionResponse(outcome=outcome, reason=reason, evidence_digest="sha256:e")
    message.revision.revision = 42
    message.valid_until.FromDatetime(datetime.now(timezone.utc) + timedelta(seconds=seconds))
    return message


class Client(unittest.TestCase):
    def ask(self, say, *, token=None, **more):
        decides = Decides(say)
        server = grpc.server(futures.ThreadPoolExecutor(max_workers=1))
        admission_pb2_grpc.add_AdmissionServiceServicer_to_server(decides, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        with Admissions(f"127.0.0.1:{port}", token, patience=5) as admissions:
            return admissions.check(**QUESTION, **more), decides

    def test_an_allow_is_an_allow_until_it_ends(self):
        verdict, decides = self.ask(lambda _: answer(ALLOW, types_pb2.DECISION_REASON_ALLOWED))
        self.assertTrue(verdict.holds())
        self.assertEqual((verdict.reason, verdict.revision, verdict.evidence_digest), ("ALLOWED", 42, "sha256:e"))
        self.assertFalse(verdict.holds(verdict.valid_until))
        asked = decides.asked[0]
        self.assertEqual((asked.agent, asked.version, asked.card_digest, asked.profile), tuple(QUESTION.values()))

    def test_every_denying_reason_denies(self):
        for value in types_pb2.DecisionReason.values():
            self.assertFalse(read(answer(DENY, value)).allowed)
            if not types_pb2.DecisionReason.Name(value).startswith("DECISION_REASON_ALLOWED"):
                self.assertFalse(read(answer(ALLOW, value)).allowed, "an answer that contradicts itself")

    def test_a_value_from_the_future_is_a_denial(self):
        verdict, _ = self.ask(lambda _: answer(ALLOW, 999))
        self.assertEqual((verdict.allowed, verdict.reason), (False, "NOT_UNDERSTOOD"))
        verdict, _ = self.ask(lambda _: answer(77, types_pb2.DECISION_REASON_ALLOWED))
        self.assertEqual((verdict.allowed, verdict.reason), (False, "NOT_UNDERSTOOD"))
        empty = read(admission_pb2.CheckAdmissionResponse())
        self.assertEqual((empty.allowed, empty.reason), (False, "NOT_UNDERSTOOD"))

    def test_an_error_is_a_denial(self):
        for code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL):
            verdict, _ = self.ask(lambda context, code=code: context.abort(code, "no"))
            self.assertEqual((verdict.allowed, verdict.reason), (False, "UNAVAILABLE"))
            self.assertIn(code.name, verdict.detail)

    def test_silence_is_a_denial(self):
        with socket.create_server(("127.0.0.1", 0)) as mute:
            with Admissions(f"127.0.0.1:{mute.getsockname()[1]}", patience=0.3) as admissions:
                verdict = admissions.check(**QUESTION)
        self.assertEqual((verdict.allowed, verdict.reason), (False, "UNAVAILABLE"))

    def test_a_trial_allows_and_says_what_would_have_denied(self):
        def trial(_):
            message = answer(ALLOW, types_pb2.DECISION_REASON_ALLOWED_WOULD_DENY)
            message.would_deny = types_pb2.DECISION_REASON_EVIDENCE_EXPIRED
            return message

        verdict, _ = self.ask(trial)
        self.assertEqual((verdict.allowed, verdict.would_deny), (True, "EVIDENCE_EXPIRED"))

    def test_token_freshness_and_optional_fields_go_along(self):
        allowed = lambda _: answer(ALLOW, types_pb2.DECISION_REASON_ALLOWED)
        _, decides = self.ask(allowed, token="secret", at_least=7, consumer="checkout")
        self.assertEqual(decides.credentials, ["Bearer secret"])
        self.assertEqual(decides.asked[0].consumer, "checkout")
        self.assertEqual(decides.asked[0].consistency.at_least_as_fresh.revision, 7)

    def test_an_answer_without_an_end_does_not_hold(self):
        self.assertFalse(Verdict(allowed=True, reason="ALLOWED").holds())


if __name__ == "__main__":
    unittest.main()
