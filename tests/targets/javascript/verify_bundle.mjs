// Verifies Sigstore bundles with libraries that are not ours.
//
// usage: verify_bundle.mjs KEY.pem BUNDLE.json...
//
// Prints for each bundle, in order: `valid PREDICATE_TYPE`, or `invalid CODE` with the library's own error code. The key
// is believed under its own name alone, the digest of its SPKI; no log, no timestamp and no certificate is asked for.

import { createHash, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';

const installed = new URL('../../../target/targets/javascript/node_modules/', import.meta.url);
const { default: bundles } = await import(new URL('@sigstore/bundle/dist/index.js', installed));
const { default: verify } = await import(new URL('@sigstore/verify/dist/index.js', installed));

const [keyFile, ...files] = process.argv.slice(2);
const key = createPublicKey(readFileSync(keyFile, 'utf8'));
const name = createHash('sha256').update(key.export({ type: 'spki', format: 'der' })).digest('hex');
const trusted = (hint) => {
  if (hint !== name) throw new verify.VerificationError({ code: 'PUBLIC_KEY_ERROR', message: `unknown key ${hint}` });
  return { publicKey: key, validFor: () => true };
};
const material = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [], publicKey: trusted };
const verifier = new verify.Verifier(material, { tlogThreshold: 0, ctlogThreshold: 0, tsaThreshold: 0 });

for (const file of files) {
  try {
    const bundle = bundles.bundleFromJSON(JSON.parse(readFileSync(file, 'utf8')));
    verifier.verify(verify.toSignedEntity(bundle));
    const statement = JSON.parse(bundle.content.dsseEnvelope.payload.toString('utf8'));
    console.log(`valid ${statement.predicateType}`);
  } catch (error) {
    console.log(`invalid ${error.code ?? error.name}`);
  }
}
