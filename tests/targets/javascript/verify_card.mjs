// Verifies signed agent cards with the official JavaScript SDK.
//
// usage: verify_card.mjs KEYS.jwks.json typed|json CARD.json...
//
// Prints `valid` or `invalid` for each card, in order. See sign_card.mjs for the two shapes.

import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { sdk } from './sdk.mjs';

const { AgentCard, verifyAgentCardSignature } = sdk;
const [keysFile, shape, ...cards] = process.argv.slice(2);
const keys = new Map(JSON.parse(readFileSync(keysFile, 'utf8')).keys.map((key) => [key.kid, key]));
const verify = verifyAgentCardSignature(async (kid) => {
  const key = keys.get(kid);
  if (!key) throw new Error(`unknown key ${kid}`);
  return createPublicKey({ key, format: 'jwk' });
});

// The SDK tells of each signature that does not fit; one word for each card is enough here.
console.debug = () => {};

for (const path of cards) {
  const json = JSON.parse(readFileSync(path, 'utf8'));
  const outcome = await verify(shape === 'typed' ? AgentCard.fromJSON(json) : json).then(
    () => 'valid',
    () => 'invalid',
  );
  console.log(outcome);
}
