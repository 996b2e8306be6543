// The SDK as `cargo xtask setup` installed it: outside the source tree, so that it has to be looked up by place.

import { webcrypto } from 'node:crypto';

// Node 18, which is what Debian 12 has, keeps it out of sight.
globalThis.crypto ??= webcrypto;

export const installed = new URL('../../../target/targets/javascript/node_modules/', import.meta.url);

export const sdk = await import(new URL('@a2a-js/sdk/dist/index.js', installed));
