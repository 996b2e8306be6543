"""An ordinary agent on the published framework `fasta2a`: counts the words of a text."""

import argparse
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fasta2a import FastA2A, Skill, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.schema import Artifact, TaskIdParams, TaskSendParams
from fasta2a.storage import InMemoryStorage


class CountWords(Worker):
    """Answers each message with one JSON artifact."""

    async def run_task(self, params: TaskSendParams) -> None:
        task = await self.storage.load_task(params["id"])
        await self.storage.update_task(task["id"], state="working")
        text = " ".join(part["text"] for part in params["message"]["parts"] if "text" in part)
        artifact = Artifact(artifact_id=str(uuid.uuid4()), name="counts", parts=[{"data": {"words": len(text.split())}}])
        await self.storage.update_task(task["id"], state="completed", new_artifacts=[artifact])

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
