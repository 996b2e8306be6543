"""Counts the words of a text: what the text statistics agents on the official Python SDK do with a message.

A message is a text, or a JSON object with the text in `text` and how it is to be treated:

- `steps` and `pace_ms`: work in that many steps with that pause before each, and report each of them;
- `ask`: ask for the text, which the next message to the task has to bring;
- `fail`: fail; `refuse`: reject the task.
"""

import asyncio
import json
from datetime import datetime, timezone

from a2a.helpers import new_data_message, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Task, TaskState
from a2a.utils.errors import UnsupportedOperationError
from chart import counted


def wish_of(text):
    """What a message asks for: the object that it is, or its text."""
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            pass
    return {"text": text}


class CountWords(AgentExecutor):
    """Answers each message with one JSON artifact: words and characters."""

    def __init__(self, parts=counted):
        self.parts = parts
        # of each task: set once it has ended. The SDK lets a later event end a task again, so that a cancel which comes
        # while the last step is on its way has to be kept apart here.
        self.over = {}

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = begun(context)
        over = self.over.setdefault(task.id, asyncio.Event())
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await event_queue.enqueue_event(task)
        wish = wish_of(context.get_user_input())
        if wish.get("refuse"):
            await end(over, updater.reject, said(updater, "this text is not counted"))
            return
        if over.is_set():
            return
        await updater.start_work()
        if wish.get("ask"):
            await updater.requires_input(said(updater, "which text?"))
        elif wish.get("fail"):
            await end(over, updater.failed, said(updater, "the text could not be counted"))
        elif await worked(wish, updater, over):
            await updater.add_artifact(self.parts(counts_of(str(wish.get("text", "")))), name="counts")
            await end(over, updater.complete)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        over = self.over.setdefault(context.task_id, asyncio.Event())
        await end(over, TaskUpdater(event_queue, context.task_id, context.context_id).cancel)


class SayCounts(AgentExecutor):
    """Answers each message with a message, and knows no tasks."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        counts = counts_of(context.get_user_input())
        answer = new_data_message(counts, media_type="application/json", context_id=context.context_id)
        await event_queue.enqueue_event(answer)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise UnsupportedOperationError(message="there are no tasks")


def counts_of(text):
    return {"words": len(text.split()), "characters": len(text)}


async def end(over, how, message=None):
    """Ends a task that has not ended yet."""
    if not over.is_set():
        over.set()
        await how(message)


async def worked(wish, updater, over):
    """Goes through the steps that are asked for; whether the task is still to be ended."""
    steps, pause = int(wish.get("steps", 0)), float(wish.get("pace_ms", 0)) / 1000
    for step in range(1, steps + 1):
        try:
            await asyncio.wait_for(over.wait(), pause)
            return False
        except TimeoutError:
            await updater.start_work(said(updater, f"step {step} of {steps}"))
    return not over.is_set()


def begun(context):
    """The task of a message; one that waited for it goes on."""
    if context.current_task is None:
        return new_task_from_user_message(context.message)
    task = Task()
    task.CopyFrom(context.current_task)
    task.status.Clear()
    task.status.state = TaskState.TASK_STATE_WORKING
    task.status.timestamp.FromDatetime(datetime.now(timezone.utc))
    return task


def said(updater, text):
    return updater.new_agent_message([new_text_part(text)])
