// What the client makes of every kind of answer, and of none: npm test

import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { Server, ServerCredentials, status, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import {
  AdmissionServiceService,
  CheckAdmissionResponse,
  type CheckAdmissionRequest,
} from '../generated/ostiary/admission/v1/admission.js';
import { DecisionReason, Outcome } from '../generated/ostiary/admission/v1/types.js';
import { Admissions, holds, read, type Question } from './client.js';

type Asked = { request: CheckAdmissionRequest; credential: string | undefined };
type Say = (answer: sendUnaryData<CheckAdmissionResponse>) => void;

const QUESTION: Question = {
  agent: 'acme/text',
  version: '1.0.0',
  cardDigest: `sha256:${'a'.repeat(64)}`,
  profile: 'a2a-jsonrpc-1.0',
};

function answer(outcome: number, reason: number, more: Partial<CheckAdmissionResponse> = {}): CheckAdmissionResponse {
  return CheckAdmissionResponse.fromPartial({
    outcome,
    reason,
    evidenceDigest: 'sha256:e',
    revision: { revision: 42n },
    validUntil: new Date(Date.now() + 60_000),
    ...more,
  });
}

/** Asks a decision point that says what the test tells it to. */
async function ask(context: TestContext, say: Say, options: { token?: string } = {}, more: Partial<Question> = {}) {
  const asked: Asked[] = [];
  const server = new Server();
  const check = (call: ServerUnaryCall<CheckAdmissionRequest, CheckAdmissionResponse>, done: sendUnaryData<CheckAdmissionResponse>) => {
    const [credential] = call.metadata.get('authorization');
    asked.push({ request: call.request, credential: credential?.toString() });
    say(done);
  };
  const { checkAdmission } = AdmissionServiceService;
  server.addService({ checkAdmission }, { checkAdmission: check });
  const port = await new Promise<number>((resolve, reject) => {
    const bound = (error: Error | null, port: number) => (error ? reject(error) : resolve(port));
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), bound);
  });
  const admissions = new Admissions(`127.0.0.1:${port}`, { ...options, patienceMs: 5_000 });
  context.after(() => {
    admissions.close();
    server.forceShutdown();
  });
  return { verdict: await admissions.check({ ...QUESTION, ...more }), asked };
}

test('an allow is an allow until it ends', async (context) => {
  const { verdict, asked } = await ask(context, (done) => done(null, answer(Outcome.OUTCOME_ALLOW, DecisionReason.DECISION_REASON_ALLOWED)));
  assert.ok(holds(verdict));
  assert.ok(verdict.validUntil !== undefined && !holds(verdict, verdict.validUntil));
  assert.deepEqual([verdict.reason, verdict.revision, verdict.evidenceDigest], ['ALLOWED', 42n, 'sha256:e']);
  assert.equal(asked[0]?.request.cardDigest, QUESTION.cardDigest);
});

test('every denying reason denies', () => {
  for (const reason of Object.values(DecisionReason).filter((value) => typeof value === 'number')) {
    assert.ok(!read(answer(Outcome.OUTCOME_DENY, reason)).allowed);
    const allowing = DecisionReason[reason]?.startsWith('DECISION_REASON_ALLOWED') ?? false;
    assert.equal(read(answer(Outcome.OUTCOME_ALLOW, reason)).allowed, allowing, 'an answer that contradicts itself');
  }
});

test('a value from the future is a denial', async (context) => {
  for (const [outcome, reason] of [[Outcome.OUTCOME_ALLOW, 999], [77, DecisionReason.DECISION_REASON_ALLOWED]] as const) {
    const { verdict } = await ask(context, (done) => done(null, answer(outcome, reason)));
    assert.deepEqual([verdict.allowed, verdict.reason], [false, 'NOT_UNDERSTOOD']);
  }
  assert.equal(read(CheckAdmissionResponse.fromPartial({})).reason, 'NOT_UNDERSTOOD');
});

test('an error is a denial', async (context) => {
  for (const code of [status.UNAUTHENTICATED, status.UNAVAILABLE, status.INTERNAL]) {
    const { verdict } = await ask(context, (done) => done({ code, details: 'no' }));
    assert.deepEqual([verdict.allowed, verdict.reason], [false, 'UNAVAILABLE']);
    assert.match(verdict.detail ?? '', new RegExp(status[code] ?? ''));
  }
});

test('silence is a denial', async (context) => {
  const mute = createServer((socket) => context.after(() => socket.destroy()));
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  const admissions = new Admissions(`127.0.0.1:${(mute.address() as AddressInfo).port}`, { patienceMs: 300 });
  context.after(() => {
    admissions.close();
    mute.close();
  });
  const verdict = await admissions.check(QUESTION);
  assert.deepEqual([verdict.allowed, verdict.reason], [false, 'UNAVAILABLE']);
});

test('a trial allows and says what would have denied', async (context) => {
  const trial = answer(Outcome.OUTCOME_ALLOW, DecisionReason.DECISION_REASON_ALLOWED_WOULD_DENY, {
    wouldDeny: DecisionReason.DECISION_REASON_EVIDENCE_EXPIRED,
  });
  const { verdict } = await ask(context, (done) => done(null, trial));
  assert.deepEqual([verdict.allowed, verdict.wouldDeny], [true, 'EVIDENCE_EXPIRED']);
});

test('token, freshness and optional fields go along', async (context) => {
  const allowed = answer(Outcome.OUTCOME_ALLOW, DecisionReason.DECISION_REASON_ALLOWED);
  const more = { atLeast: 7n, consumer: 'checkout' };
  const { asked } = await ask(context, (done) => done(null, allowed), { token: 'secret' }, more);
  assert.equal(asked[0]?.credential, 'Bearer secret');
  assert.equal(asked[0]?.request.consumer, 'checkout');
  assert.deepEqual(asked[0]?.request.consistency?.requirement?.$case, 'atLeastAsFresh');
});

test('an answer without an end does not hold', () => {
  assert.ok(!holds({ allowed: true, reason: 'ALLOWED' }));
});
