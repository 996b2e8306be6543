// Counts the words of a text: what the text statistics agents on the official JavaScript SDK do with a message.
//
// A message is a text, or a JSON object with the text in `text` and how it is to be treated:
// - `steps` and `pace_ms`: work in that many steps with that pause before each, and report each of them;
// - `ask`: ask for the text, which the next message to the task has to bring;
// - `fail`: fail; `refuse`: reject the task.

import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

import { installed, sdk } from './sdk.mjs';

const { AgentEvent } = await import(new URL('@a2a-js/sdk/dist/server/index.js', installed));
const { Artifact, Task, TaskStatusUpdateEvent } = sdk;

/** What a message asks for: the object that it is, or its text. */
const wishOf = (message) => {
  const text = message.parts.map((part) => (part.content?.$case === 'text' ? part.content.value : '')).join('');
  if (text.trimStart().startsWith('{')) {
    try {
      return JSON.parse(text);
    } catch {
      // a text that only looks like an object
    }
  }
  return { text };
};

/** Answers each message with one JSON artifact: words and characters. */
export class CountWords {
  /** The tasks at work or waiting, by id: their context, and what stops them. */
  tasks = new Map();

  async execute(context, events) {
    const { taskId, contextId, userMessage } = context;
    const task = this.tasks.get(taskId) ?? { contextId, stop: new AbortController() };
    this.tasks.set(taskId, task);
    const tell = (state, text) => events.publish(AgentEvent.statusUpdate(update(taskId, contextId, state, text)));
    const end = (state, text) => {
      // A cancel that came first has ended it.
      if (this.tasks.delete(taskId)) {
        tell(state, text);
      }
      events.finished();
    };
    events.publish(AgentEvent.task(begun(context)));
    const wish = wishOf(userMessage);
    if (wish.refuse) {
      return end('TASK_STATE_REJECTED', 'this text is not counted');
    }
    tell('TASK_STATE_WORKING');
    if (wish.ask) {
      return tell('TASK_STATE_INPUT_REQUIRED', 'which text?');
    }
    if (wish.fail) {
      return end('TASK_STATE_FAILED', 'the text could not be counted');
    }
    for (let step = 1; step <= (wish.steps ?? 0); step += 1) {
      await setTimeout(wish.pace_ms ?? 0, undefined, { signal: task.stop.signal }).catch(() => {});
      if (task.stop.signal.aborted) {
        return undefined;
      }
      tell('TASK_STATE_WORKING', `step ${step} of ${wish.steps}`);
    }
    const text = String(wish.text ?? '');
    const counts = { words: text.split(/\s+/).filter(Boolean).length, characters: text.length };
    const parts = [{ data: counts, mediaType: 'application/json' }];
    const artifact = Artifact.fromJSON({ artifactId: randomUUID(), name: 'counts', parts });
    events.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true }));
    return end('TASK_STATE_COMPLETED');
  }

  async cancelTask(taskId, events) {
    const task = this.tasks.get(taskId);
    if (task) {
      this.tasks.delete(taskId);
      task.stop.abort();
      events.publish(AgentEvent.statusUpdate(update(taskId, task.contextId, 'TASK_STATE_CANCELED')));
    }
    // also where the task has ended just now: the SDK waits for it
    events.finished();
  }
}

const now = () => new Date().toISOString();

/** The task of a message; one that waited for it goes on. */
const begun = ({ task, taskId, contextId, userMessage }) => {
  const status = { state: task ? 'TASK_STATE_WORKING' : 'TASK_STATE_SUBMITTED', timestamp: now() };
  const fresh = Task.fromJSON({ id: taskId, contextId, status, history: [], artifacts: [] });
  return task ? { ...task, status: fresh.status } : { ...fresh, history: [userMessage] };
};

const update = (taskId, contextId, state, text) => {
  const message = text && { messageId: randomUUID(), role: 'ROLE_AGENT', taskId, contextId, parts: [{ text }] };
  return TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: { state, timestamp: now(), message } });
};
