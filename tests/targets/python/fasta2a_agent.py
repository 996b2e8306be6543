"""An ordinary agent on the published framework `fasta2a`: counts the words of a text.

It understands the messages that `count_words.py` describes, and does what the framework's documentation shows: the worker
writes its states to the storage and tells the stream of them.
"""

import argparse
import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from count_words import counts_of, wish_of
from fasta2a import FastA2A, Skill, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.schema import Artifact, TaskIdParams, TaskSendParams
from fasta2a.storage import InMemoryStorage


class CountWords(Worker):
    """Answers each message with one JSON artifact."""

    async def run_task(self, params: TaskSendParams) -> None:
        task = await self.storage.load_task(params["id"])
        wish = wish_of(" ".join(part["text"] for part in params["message"]["parts"] if "text" in part))
        ends = {"refuse": "rejected", "ask": "input-required", "fail": "failed"}
        end = next((state for key, state in ends.items() if wish.get(key)), None)
        if end != "rejected":
            await self.tell(task, "working")
        if end is not None:
            await self.storage.update_task(task["id"], state=end)
            return
        for _ in range(int(wish.get("steps", 0))):
            await asyncio.sleep(float(wish.get("pace_ms", 0)) / 1000)
            await self.tell(task, "working")
        counts = counts_of(str(wish.get("text", "")))
        artifact = Artifact(artifact_id=str(uuid.uuid4()), name="counts", parts=[{"data": counts}])
        await self.publish_artifact(task["id"], task["context_id"], artifact)
        await self.storage.update_task(task["id"], state="completed", new_artifacts=[artifact])

    async def tell(self, task, state):
        await self.storage.update_task(task["id"], state=state)
        await self.publish_status(task["id"], task["context_id"], state)

    async def cancel_task(self, params: TaskIdParams) -> None:
        if await self.storage.load_task(params["id"]) is not None:
            await self.storage.update_task(params["id"], state="canceled")

    def build_message_history(self, history):
        return list(history)

    def build_artifacts(self, result):
        return []


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--public-url", help="the URL that the card declares; default: the address it listens on")
    options = arguments.parse_args()
    storage, broker = InMemoryStorage(), InMemoryBroker()
    worker = CountWords(broker=broker, storage=storage)

    @asynccontextmanager
    async def lifespan(app: FastA2A) -> AsyncIterator[None]:
        async with app.task_manager, worker.run():
            yield

    skill = Skill(
        id="count-words",
        name="Count words",
        description="Counts the words of the text it is sent.",
        tags=["text"],
        input_modes=["text/plain"],
        output_modes=["application/json"],
    )
    app = FastA2A(
        storage=storage,
        broker=broker,
        name="Text statistics",
        url=options.public_url or f"http://127.0.0.1:{options.port}/",
        skills=[skill],
        lifespan=lifespan,
    )
    uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
