// Asks Ostiary before a dispatch, and takes everything but a clear "yes" for a "no".
//
// Ask the sidecar on this machine, or a control plane. Nothing is kept here: an answer holds for one dispatch that follows
// at once, and never from its `validUntil` on.

import { credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import {
  AdmissionServiceClient,
  CheckAdmissionRequest,
  type CheckAdmissionResponse,
} from '../generated/ostiary/admission/v1/admission.js';
import { DecisionReason, Outcome } from '../generated/ostiary/admission/v1/types.js';

/** One dispatch; the first four are required, and a digest is that of the card which the caller really holds. */
export interface Question {
  agent: string;
  version: string;
  cardDigest: string;
  profile: string;
  consumer?: string;
  interface?: string;
  cohortKey?: string;
  contractDigest?: string;
  producerDigest?: string;
  /** The revision that an operator's change returned. */
  atLeast?: bigint;
}

/** What came of a question. */
export interface Verdict {
  allowed: boolean;
  /** The published reason; UNAVAILABLE when there was no answer, NOT_UNDERSTOOD when it says something unknown. */
  reason: string;
  /** In a namespace on trial: what would have denied. */
  wouldDeny?: string;
  revision?: bigint;
  validUntil?: Date;
  evidenceDigest?: string;
  /** For people; only when there was no answer. */
  detail?: string;
}

/** Longer than any answer takes, and shorter than a caller notices. */
const PATIENCE_MS = 500;

/** The only reasons that come with an ALLOW. Whatever is added to the enum later is a denial for this program. */
const ALLOWING: ReadonlySet<DecisionReason> = new Set([
  DecisionReason.DECISION_REASON_ALLOWED,
  DecisionReason.DECISION_REASON_ALLOWED_WOULD_DENY,
]);

/** A connection to whoever decides: `127.0.0.1:8431`, or `unix:/run/ostiary/admission.sock`. */
export class Admissions {
  readonly #client: AdmissionServiceClient;
  readonly #metadata = new Metadata();
  readonly #patience: number;

  constructor(target: string, options: { token?: string; patienceMs?: number } = {}) {
    // a path is no name of a host, and servers that are strict refuse it as one
    const named = target.startsWith('unix:') ? { 'grpc.default_authority': 'localhost' } : {};
    this.#client = new AdmissionServiceClient(target, credentials.createInsecure(), named);
    if (options.token) {
      this.#metadata.set('authorization', `Bearer ${options.token}`);
    }
    this.#patience = options.patienceMs ?? PATIENCE_MS;
  }

  close(): void {
    this.#client.close();
  }

  /** Asks about one dispatch. Never rejects for an answer that did not come: that is a denial as well. */
  check(question: Question): Promise<Verdict> {
    const { atLeast, ...fields } = question;
    const request = CheckAdmissionRequest.fromPartial(fields);
    if (atLeast !== undefined && atLeast > 0n) {
      request.consistency = { requirement: { $case: 'atLeastAsFresh', atLeastAsFresh: { revision: atLeast } } };
    }
    const deadline = Date.now() + this.#patience;
    return new Promise((resolve) => {
      const done = (error: ServiceError | null, answer?: CheckAdmissionResponse) =>
        resolve(error === null && answer !== undefined ? read(answer) : unanswered(error));
      this.#client.checkAdmission(request, this.#metadata, { deadline }, done);
    });
  }
}

/** Whether the dispatch may start now. */
export function holds(verdict: Verdict, now: Date = new Date()): boolean {
  return verdict.allowed && verdict.validUntil !== undefined && now < verdict.validUntil;
}

/** What an answer says. An outcome or a reason that is not known here is a denial. */
export function read(answer: CheckAdmissionResponse): Verdict {
  const reason = Outcome[answer.outcome] === undefined ? undefined : name(answer.reason);
  return {
    allowed: reason !== undefined && answer.outcome === Outcome.OUTCOME_ALLOW && ALLOWING.has(answer.reason),
    reason: reason ?? 'NOT_UNDERSTOOD',
    ...(answer.wouldDeny !== DecisionReason.DECISION_REASON_UNSPECIFIED && {
      wouldDeny: name(answer.wouldDeny) ?? 'NOT_UNDERSTOOD',
    }),
    ...(answer.revision && { revision: answer.revision.revision }),
    ...(answer.validUntil && { validUntil: answer.validUntil }),
    ...(answer.evidenceDigest && { evidenceDigest: answer.evidenceDigest }),
  };
}

function name(reason: DecisionReason): string | undefined {
  const known: string | undefined = DecisionReason[reason];
  const short = known?.replace(/^DECISION_REASON_/, '');
  return short === 'UNSPECIFIED' || short === 'UNRECOGNIZED' ? undefined : short;
}

function unanswered(error: ServiceError | null): Verdict {
  return { allowed: false, reason: 'UNAVAILABLE', detail: error?.message ?? 'an empty answer' };
}
