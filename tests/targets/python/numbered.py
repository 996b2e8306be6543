"""The same work, told in events that carry a number each: a reader that comes back can tell what it has seen."""

from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.types import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from count_words import CountWords


class Numbered:
    """A queue that numbers the updates which go through it."""

    def __init__(self, queue, counter):
        self.queue = queue
        self.counter = counter

    async def enqueue_event(self, event):
        if isinstance(event, TaskStatusUpdateEvent | TaskArtifactUpdateEvent):
            self.counter.told += 1
            event.metadata["eventId"] = str(self.counter.told)
        await self.queue.enqueue_event(event)

    def __getattr__(self, name):
        return getattr(self.queue, name)


class CountNumbered(CountWords):
    """Counts words, and events."""

    def __init__(self):
        super().__init__()
        self.told = 0

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        await super().execute(context, Numbered(event_queue, self))
