"""Counts the words of a text: what the text statistics agents on the official Python SDK do with a message.

A message is a text, or a JSON object with the text in `text` and how it is to be treated:

- `steps` and `pace_ms`: work in that many steps with that pause before each, and report each of them;
- `ask`: ask for the text, which the next message to the task has to bring;
- `fail`: fail; `refuse`: reject the task.
"""

import asyncio
import json
from datetime import datetime, timezone

from a2a.helpers import new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Task, TaskState


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

    def __init__(self):
        # of each task at work: set when it is to stop
        self.stops = {}

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = begun(context)
        stop = self.stops.setdefault(task.id, asyncio.Event())
        try:
            await event_queue.enqueue_event(task)
            updater = TaskUpdater(event_queue, task.id, task.context_id)
            if not stop.is_set():
                await self.treat(wish_of(context.get_user_input()), updater, stop)
        finally:
            self.stops.pop(task.id, None)

    async def treat(self, wish, updater, stop):
        if wish.get("refuse"):
            await updater.reject(said(updater, "this text is not counted"))
            return
        await updater.start_work()
        if wish.get("ask"):
            await updater.requires_input(said(updater, "which text?"))
        elif wish.get("fail"):
            await updater.failed(said(updater, "the text could not be counted"))
        elif await worked(wish, updater, stop):
            text = str(wish.get("text", ""))
            counts = {"words": len(text.split()), "characters": len(text)}
            await updater.add_artifact([new_data_part(counts, media_type="application/json")], name="counts")
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        if stop := self.stops.get(context.task_id):
            stop.set()
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel()


async def worked(wish, updater, stop):
    """Goes through the steps that are asked for; whether nobody stopped it."""
    steps, pause = int(wish.get("steps", 0)), float(wish.get("pace_ms", 0)) / 1000
    for step in range(1, steps + 1):
        try:
            await asyncio.wait_for(stop.wait(), pause)
            return False
        except TimeoutError:
            await updater.start_work(said(updater, f"step {step} of {steps}"))
    return not stop.is_set()


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
