"""Promises that an agent on the official SDK breaks, one at a time: what `--unkept` chooses from."""

import asyncio
from contextvars import ContextVar

from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import CancelTaskRequest, TaskState

ENDED = {
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
}

# The tasks that the request at hand has begun.
BEGUN = ContextVar("begun", default=None)

# Held until they are done: the loop itself does not hold what it runs.
CANCELING = set()


class Forgetting(InMemoryTaskStore):
    """Forgets a task one second after its end."""

    def __init__(self):
        super().__init__()
        self.ended = {}

    async def save(self, task, context):
        await super().save(task, context)
        if task.status.state in ENDED:
            self.ended.setdefault(task.id, asyncio.get_running_loop().time())

    async def get(self, task_id, context):
        ended = self.ended.get(task_id)
        if ended is not None and asyncio.get_running_loop().time() - ended > 1:
            return None
        return await super().get(task_id, context)


def remembering(bearer):
    """Takes a token that it has once taken for as long as it lives itself."""

    class Remembering(bearer):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.taken = {}

        def tenant(self, authorization):
            if authorization not in self.taken:
                self.taken[authorization] = super().tenant(authorization)
            return self.taken[authorization]

    return Remembering


class WithCaller:
    """Stops serving a request whose caller has gone away."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        messages, gone = asyncio.Queue(), asyncio.Event()

        async def watch():
            while not gone.is_set():
                message = await receive()
                await messages.put(message)
                if message["type"] == "http.disconnect":
                    gone.set()

        watching = asyncio.ensure_future(watch())
        serving = asyncio.ensure_future(self.app(scope, messages.get, send))
        leaving = asyncio.ensure_future(gone.wait())
        await asyncio.wait({serving, leaving}, return_when=asyncio.FIRST_COMPLETED)
        for task in (watching, leaving) if serving.done() else (watching, leaving, serving):
            task.cancel()
        if serving.done() and not serving.cancelled():
            serving.result()


class CancelingHandler(DefaultRequestHandler):
    """Cancels what a request has begun when the request is given up."""

    async def _setup_active_task(self, params, context):
        active, request = await super()._setup_active_task(params, context)
        begun = BEGUN.get()
        if begun is not None:
            begun.append(request.task_id)
        return active, request

    async def on_message_send(self, params, context):
        begun = []
        BEGUN.set(begun)
        try:
            return await super().on_message_send(params, context)
        finally:
            # the SDK may well end the call in good order; what counts is that it was given up
            if asyncio.current_task().cancelling():
                for task in begun:
                    CANCELING.add(asyncio.ensure_future(self.on_cancel_task(CancelTaskRequest(id=task), context)))
