"""Asks Ostiary before a dispatch, and takes everything but a clear "yes" for a "no".

Ask the sidecar on this machine, or a control plane. Nothing is kept here: an answer holds for one dispatch that follows
at once, and never from its `valid_until` on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

import grpc
from ostiary.admission.v1 import admission_pb2, admission_pb2_grpc, types_pb2

# The only reasons that come with an ALLOW. Whatever is added to the enum later is a denial for this program.
ALLOWING = frozenset({types_pb2.DECISION_REASON_ALLOWED, types_pb2.DECISION_REASON_ALLOWED_WOULD_DENY})

# Longer than any answer takes, and shorter than a caller notices.
PATIENCE_SECONDS = 0.5


@dataclass(frozen=True)
class Verdict:
    """What came of a question."""

    allowed: bool
    # The published reason; UNAVAILABLE when there was no answer, NOT_UNDERSTOOD when it says something unknown.
    reason: str
    # In a namespace on trial: what would have denied.
    would_deny: str | None = None
    revision: int | None = None
    valid_until: datetime | None = None
    evidence_digest: str | None = None
    # For people; only when there was no answer.
    detail: str | None = None

    def holds(self, now: datetime | None = None) -> bool:
        """Whether the dispatch may start now."""
        now = now or datetime.now(timezone.utc)
        return self.allowed and self.valid_until is not None and now < self.valid_until


class Admissions:
    """A connection to whoever decides: `127.0.0.1:8431`, or `unix:/run/ostiary/admission.sock`."""

    def __init__(self, target: str, token: str | None = None, patience: float = PATIENCE_SECONDS):
        # a path is no name of a host, and servers that are strict refuse it as one
        options = (("grpc.default_authority", "localhost"),) if target.startswith("unix:") else ()
        self._channel = grpc.insecure_channel(target, options)
        self._stub = admission_pb2_grpc.AdmissionServiceStub(self._channel)
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._patience = patience

    def __enter__(self) -> Admissions:
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def check(self, *, agent: str, version: str, card_digest: str, profile: str, at_least: int = 0, **more: str) -> Verdict:
        """Asks about one dispatch. Never raises for an answer that did not come: that is a denial as well.

        `card_digest` is that of the card which the caller really holds. `at_least` is the revision that an operator's
        change returned; `more` are the optional fields: consumer, interface, cohort_key, contract_digest,
        producer_digest.
        """
        question = admission_pb2.CheckAdmissionRequest(
            agent=agent, version=version, card_digest=card_digest, profile=profile, **more
        )
        if at_least:
            question.consistency.at_least_as_fresh.revision = at_least
        try:
            answer = self._stub.CheckAdmission(question, timeout=self._patience, metadata=self._metadata)
        except grpc.RpcError as error:
            return Verdict(allowed=False, reason="UNAVAILABLE", detail=f"{error.code().name}: {error.details()}")
        return read(answer)


def read(answer: admission_pb2.CheckAdmissionResponse) -> Verdict:
    """What an answer says. An outcome or a reason that is not known here is a denial."""
    understood = answer.reason in types_pb2.DecisionReason.values() and answer.outcome in types_pb2.Outcome.values()
    reason = _short(types_pb2.DecisionReason.Name(answer.reason)) if understood else "NOT_UNDERSTOOD"
    return Verdict(
        allowed=understood and answer.outcome == types_pb2.OUTCOME_ALLOW and answer.reason in ALLOWING,
        reason="NOT_UNDERSTOOD" if reason == "UNSPECIFIED" else reason,
        would_deny=_would_deny(answer.would_deny),
        revision=answer.revision.revision if answer.HasField("revision") else None,
        valid_until=answer.valid_until.ToDatetime(timezone.utc) if answer.HasField("valid_until") else None,
        evidence_digest=answer.evidence_digest or None,
    )


def _would_deny(value: int) -> str | None:
    if value == types_pb2.DECISION_REASON_UNSPECIFIED:
        return None
    known = value in types_pb2.DecisionReason.values()
    return _short(types_pb2.DecisionReason.Name(value)) if known else "NOT_UNDERSTOOD"


def _short(name: str) -> str:
    return name.removeprefix("DECISION_REASON_")
