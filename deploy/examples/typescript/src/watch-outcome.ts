// Prints the decision about one dispatch, and again each time it changes:
//
//   node dist/src/watch-outcome.js --target 127.0.0.1:8431 --agent acme/text --version 1.0.0 \
//       --card-digest sha256:… --profile a2a-jsonrpc-1.0
//
// Never goes back in time: each question asks for a view no older than the last answer's. Ends with 1 on the first denial
// with `--until-denied`, so that a script can wait for a quarantine.

import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Admissions, holds } from './client.js';

const { values } = parseArgs({
  options: {
    target: { type: 'string', default: '127.0.0.1:8431' },
    'token-env': { type: 'string', default: 'OSTIARY_TOKEN' },
    agent: { type: 'string' },
    version: { type: 'string' },
    'card-digest': { type: 'string' },
    profile: { type: 'string' },
    every: { type: 'string', default: '200' },
    times: { type: 'string', default: '10000' },
    'until-denied': { type: 'boolean', default: false },
  },
});

const { agent, version, profile, 'card-digest': cardDigest } = values;
if (!agent || !version || !profile || !cardDigest) {
  console.error('--agent, --version, --card-digest and --profile are required');
  process.exit(2);
}

const token = process.env[values['token-env'] ?? ''];
const admissions = new Admissions(values.target ?? '', token ? { token } : {});
let last = '';
let revision = 0n;
for (let asked = 0; asked < Number(values.times); asked += 1) {
  const verdict = await admissions.check({ agent, version, cardDigest, profile, atLeast: revision });
  if (verdict.revision !== undefined && verdict.revision > revision) {
    revision = verdict.revision;
  }
  const word = holds(verdict) ? 'ALLOW' : 'DENY';
  if (`${word} ${verdict.reason}` !== last) {
    last = `${word} ${verdict.reason}`;
    console.log(word, verdict.reason, `revision=${revision}`, verdict.detail ?? '');
  }
  if (values['until-denied'] && word === 'DENY') {
    process.exitCode = 1;
    break;
  }
  await pause(Number(values.every));
}
admissions.close();
