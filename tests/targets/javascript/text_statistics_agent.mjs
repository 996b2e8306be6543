// An ordinary agent on the official JavaScript SDK and express: counts the words of a text. It knows nothing of whoever
// verifies it, and is open to everybody. It always speaks JSON-RPC, HTTP+JSON with `--rest-url`, and gRPC with
// `--grpc-port` and `--grpc-url`.

import { randomUUID } from 'node:crypto';

import { installed, sdk } from './sdk.mjs';

const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = await import(
  new URL('@a2a-js/sdk/dist/server/index.js', installed)
);
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } = await import(
  new URL('@a2a-js/sdk/dist/server/express/index.js', installed)
);
const { default: express } = await import(new URL('express/index.js', installed));

const { AgentCard, Artifact, Task, TaskState, TaskStatusUpdateEvent } = sdk;

/** Answers each message with one JSON artifact: words and characters. */
class CountWords {
  async execute(context, events) {
    const { taskId, contextId, userMessage } = context;
    const status = (state) => ({ state, timestamp: new Date().toISOString() });
    const submitted = { id: taskId, contextId, status: status('TASK_STATE_SUBMITTED'), history: [], artifacts: [] };
    const update = (state) => TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: status(state) });
    events.publish(AgentEvent.task(context.task ?? { ...Task.fromJSON(submitted), history: [userMessage] }));
    events.publish(AgentEvent.statusUpdate(update('TASK_STATE_WORKING')));
    const text = userMessage.parts.map((part) => (part.content?.$case === 'text' ? part.content.value : '')).join('');
    const counts = { words: text.split(/\s+/).filter(Boolean).length, characters: text.length };
    const parts = [{ data: counts, mediaType: 'application/json' }];
    const artifact = Artifact.fromJSON({ artifactId: randomUUID(), name: 'counts', parts });
    events.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true }));
    events.publish(AgentEvent.statusUpdate(update('TASK_STATE_COMPLETED')));
    events.finished();
  }

  async cancelTask(taskId, events) {
    const status = { state: TaskState.TASK_STATE_CANCELED, timestamp: new Date().toISOString() };
    events.publish(AgentEvent.statusUpdate({ taskId, contextId: '', status }));
    events.finished();
  }
}

const card = (interfaces) =>
  AgentCard.fromJSON({
    name: 'Text statistics',
    description: 'Counts the words and characters of a text.',
    version: '1.0.0',
    supportedInterfaces: interfaces
      .filter(([, url]) => url)
      .map(([protocolBinding, url]) => ({ url, protocolBinding, protocolVersion: '1.0' })),
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
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
const agentCard = card([
  ['JSONRPC', option('--public-url') ?? `http://127.0.0.1:${port}/rpc`],
  ['HTTP+JSON', option('--rest-url')],
  ['GRPC', option('--grpc-url')],
]);
const requestHandler = new DefaultRequestHandler(agentCard, new InMemoryTaskStore(), new CountWords());
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
