"""What an agent on the official Python SDK has to look at itself: the SDK leaves it to whoever uses it.

Each fault of `FAULTS` leaves one of these out, or does something that nobody asked for.
"""

from a2a.server.request_handlers import DefaultRequestHandler
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    ExtensionSupportRequiredError,
    UnsupportedOperationError,
)

FAULTS = {
    "any-extension": "serves who does not name the required extension",
    "any-output": "answers in JSON whoever does not take it",
    "any-tenant": "finds tasks under any routing value",
    "moods": "refuses with another error each second time",
    "replaces": "throws the first task away when its message comes again",
}


class Careful(DefaultRequestHandler):
    """Looks at the required extension and the accepted modes of a request."""

    def __init__(self, *, extension=None, faults=(), **parts):
        super().__init__(**parts)
        self.extension = extension
        self.faults = faults
        self.refusals = 0
        self.made = {}

    def admit(self, params, context):
        lacking = self.extension and self.extension not in context.requested_extensions
        if lacking and "any-extension" not in self.faults:
            self.refusals += 1
            if "moods" in self.faults and self.refusals % 2 == 0:
                raise UnsupportedOperationError(message="not now")
            raise ExtensionSupportRequiredError(message=f"{self.extension} is required")
        taken = params.configuration.accepted_output_modes
        if taken and "application/json" not in taken and "any-output" not in self.faults:
            raise ContentTypeNotSupportedError(message="the output is JSON")

    async def on_message_send(self, params, context):
        self.admit(params, context)
        before = self.made.get(params.message.message_id)
        if before and "replaces" in self.faults:
            await self.task_store.delete(before, context)
        answer = await super().on_message_send(params, context)
        self.made[params.message.message_id] = answer.id if hasattr(answer, "id") else None
        return answer

    async def on_message_send_stream(self, params, context):
        self.admit(params, context)
        async for event in super().on_message_send_stream(params, context):
            yield event
