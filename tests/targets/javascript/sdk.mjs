// The SDK as `cargo xtask setup` installed it: outside the source tree, so that it has to be looked up by place.

import { createRequire } from 'node:module';

const installed = new URL('../../../target/targets/javascript/', import.meta.url);

export const sdk = createRequire(installed)('@a2a-js/sdk');
