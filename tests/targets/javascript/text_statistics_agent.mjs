// An ordinary agent on the official JavaScript SDK and express: counts the words of a text. It knows nothing of whoever
// verifies it, and is open to everybody. It always speaks JSON-RPC, HTTP+JSON with `--rest-url`, and gRPC with
// `--grpc-port` and `--grpc-url`. With `--push` it tells of changes of a task where it is asked to, and refuses addresses of
// its own network, except below the `--push-to` that its operator names; with `--push-as-it-comes` both are left to the SDK.
// What messages it understands is in `count_words.mjs`; `--any-message` leaves it to the SDK which are messages at all. With
// `--tenant` its card names that routing value, under which the SDK keeps its tasks.

import { CountWords } from './count_words.mjs';
import { WholeMessages } from './messages.mjs';
import { screened } from './push.mjs';
import { installed, sdk } from './sdk.mjs';

const { DefaultExecutionEventBusManager, DefaultRequestHandler, InMemoryTaskStore } = await import(
  new URL('@a2a-js/sdk/dist/server/index.js', installed)
);
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } = await import(
  new URL('@a2a-js/sdk/dist/server/express/index.js', installed)
);
const { default: express } = await import(new URL('express/index.js', installed));

const { AgentCard } = sdk;

const card = (interfaces, pushNotifications, tenant) =>
  AgentCard.fromJSON({
    name: 'Text statistics',
    description: 'Counts the words and characters of a text.',
    version: '1.0.0',
    supportedInterfaces: interfaces
      .filter(([, url]) => url)
      .map(([protocolBinding, url]) => ({ url, protocolBinding, protocolVersion: '1.0', tenant })),
    capabilities: { streaming: true, pushNotifications, extendedAgentCard: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['application/json'],
    skills: [
      {
        id: 'count-words',
        name: 'Count words',
        description: 'Counts the words and characters of the text it is sent.',
        tags: ['text'],
        examples: ['the quick brown fox'],
      },
    ],
  });

const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};

const port = Number(option('--port'));
const grpcPort = option('--grpc-port');
const interfaces = [
  ['JSONRPC', option('--public-url') ?? `http://127.0.0.1:${port}/rpc`],
  ['HTTP+JSON', option('--rest-url')],
  ['GRPC', option('--grpc-url')],
];
const agentCard = card(interfaces, process.argv.includes('--push'), option('--tenant') ?? '');
const push = process.argv.includes('--push-as-it-comes') ? [] : screened(option('--push-to'));
const Handler = process.argv.includes('--any-message') ? DefaultRequestHandler : WholeMessages;
const requestHandler = new Handler(
  agentCard,
  new InMemoryTaskStore(),
  new CountWords(),
  new DefaultExecutionEventBusManager(),
  ...push,
);
const app = express();
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
if (option('--rest-url')) {
  app.use('/rest', restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
}
if (grpcPort) {
  const { A2AService, UserBuilder: Callers, grpcService } = await import(
    new URL('@a2a-js/sdk/dist/server/grpc/index.js', installed)
  );
  const { default: grpc } = await import(new URL('@grpc/grpc-js/build/src/index.js', installed));
  const server = new grpc.Server();
  server.addService(A2AService, grpcService({ requestHandler, userBuilder: Callers.noAuthentication }));
  await new Promise((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync(`127.0.0.1:${grpcPort}`, credentials, (error) => (error ? reject(error) : resolve()));
  });
}
app.listen(port, '127.0.0.1');
