"""The text statistics agent with a store: nothing is counted without having reached it.

Where the store cannot be reached it is tried a few times, each time after a longer pause, and then the task fails.
"""

import asyncio

from a2a.server.tasks import TaskUpdater
from count_words import CountWords, begun, said


class Stored(CountWords):
    """Asks its store before it counts."""

    def __init__(self, store, attempts, backoff_ms, gives_up):
        super().__init__()
        self.host, _, port = store.rpartition(":")
        self.port = int(port)
        self.attempts = attempts
        self.backoff = backoff_ms / 1000
        # a promise not kept: a store that could not be reached once is never asked again
        self.gives_up = gives_up
        self.given_up = False

    async def execute(self, context, event_queue):
        if await self.reached():
            await super().execute(context, event_queue)
            return
        task = begun(context)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.failed(said(updater, "the text could not be kept"))

    async def reached(self):
        for attempt in range(0 if self.given_up else self.attempts):
            if attempt:
                await asyncio.sleep(self.backoff * 2 ** (attempt - 1))
            if await self.asked():
                return True
        self.given_up = self.gives_up
        return False

    async def asked(self):
        """One question to the store; whether it was answered."""
        try:
            reader, writer = await asyncio.open_connection(self.host, self.port)
        except OSError:
            return False
        try:
            writer.write(b"?\n")
            await writer.drain()
            return await asyncio.wait_for(reader.readline(), 5) == b"!\n"
        except (OSError, TimeoutError):
            return False
        finally:
            writer.close()
