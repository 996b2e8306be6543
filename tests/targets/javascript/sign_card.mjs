// Signs an agent card with the official JavaScript SDK.
//
// usage: sign_card.mjs PRIVATE_KEY.pem ALG KID CARD.json [typed|json]
//
// Prints the signed card. The SDK accepts the card in its own types (the default) and as plain JSON, and does not sign
// the same bytes for the two: in its own types the security schemes are lost.

import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { sdk } from './sdk.mjs';

const { AgentCard, generateAgentCardSignature } = sdk;
const [keyFile, alg, kid, cardFile, shape = 'typed'] = process.argv.slice(2);
const key = createPrivateKey(readFileSync(keyFile));
const json = JSON.parse(readFileSync(cardFile, 'utf8'));
const typed = shape === 'typed';
const sign = generateAgentCardSignature(key, { alg, kid, typ: 'JOSE' });
const signed = await sign(typed ? AgentCard.fromJSON(json) : json);
console.log(JSON.stringify(typed ? AgentCard.toJSON(signed) : signed, null, 2));
