// Whole messages on the official JavaScript SDK, which looks at the id of a message and not at its parts: an agent whose
// messages must have some has to. With `--moods` it refuses with another error each second time; with `--leftover` it does
// what it refuses.

import { installed } from './sdk.mjs';

const { DefaultRequestHandler } = await import(new URL('@a2a-js/sdk/dist/server/index.js', installed));
const { RequestMalformedError, UnsupportedOperationError } = await import(new URL('@a2a-js/sdk/dist/errors/index.js', installed));

const moods = process.argv.includes('--moods');
const leftover = process.argv.includes('--leftover');
let refusals = 0;

/** Whether a message has parts, and each part a content. */
const isWhole = ({ message }) => message?.parts?.length && message.parts.every((part) => part.content !== undefined);

const refuse = () => {
  refusals += 1;
  if (moods && refusals % 2 === 0) {
    throw new UnsupportedOperationError('not now');
  }
  throw new RequestMalformedError('a message has at least one part, and a part has a content');
};

export class WholeMessages extends DefaultRequestHandler {
  async sendMessage(params, context) {
    if (!isWhole(params)) {
      if (leftover) {
        const parts = [{ content: { $case: 'text', value: 'left over' } }];
        await super.sendMessage({ ...params, message: { ...params.message, parts } }, context);
      }
      refuse();
    }
    return super.sendMessage(params, context);
  }

  async *sendMessageStream(params, context) {
    if (!isWhole(params)) {
      refuse();
    }
    yield* super.sendMessageStream(params, context);
  }
}
