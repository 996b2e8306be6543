// Verifies access tokens as a careful resource server does: jose, keys by OpenID Connect discovery.
//
// usage: verify_tokens.mjs ISSUER AUDIENCE < TOKENS
//
// Prints `valid SUBJECT` or `invalid` for each line, in order.

import { readFileSync } from 'node:fs';
import { installed } from './sdk.mjs';

const jose = await import(new URL('jose/dist/webapi/index.js', installed));
const [issuer, audience] = process.argv.slice(2);
const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
if (metadata.issuer !== issuer) throw new Error("the metadata is another issuer's");
const keys = jose.createRemoteJWKSet(new URL(metadata.jwks_uri));
const algorithms = metadata.id_token_signing_alg_values_supported;

for (const token of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const outcome = await jose.jwtVerify(token, keys, { issuer, audience, algorithms }).then(
    ({ payload }) => `valid ${payload.sub}`,
    () => 'invalid',
  );
  console.log(outcome);
}
