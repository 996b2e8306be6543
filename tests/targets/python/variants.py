"""Agents that are honest in another way than most: late with every answer, narrow in what they take, one tenant's alone."""

import asyncio

from a2a.server.request_handlers import DefaultRequestHandler
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError


class Late:
    """Answers every request over HTTP after a while."""

    def __init__(self, app, milliseconds):
        self.app = app
        self.pause = milliseconds / 1000

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            await asyncio.sleep(self.pause)
        await self.app(scope, receive, send)


class Narrow(DefaultRequestHandler):
    """Takes plain text alone, and only from who takes JSON."""

    async def on_message_send(self, params, context):
        accepted = params.configuration.accepted_output_modes
        plain = all(part.HasField("text") and part.media_type in ("", "text/plain") for part in params.message.parts)
        if not plain or (accepted and "application/json" not in accepted):
            raise ContentTypeNotSupportedError
        return await super().on_message_send(params, context)


def of_tenant(tenant):
    """A handler for requests that name this tenant, as the card says that they have to."""

    def own(context):
        if context.tenant != tenant:
            raise InvalidParamsError(message="the tenant is not the one of this interface")

    class OneTenant(DefaultRequestHandler):
        async def on_message_send(self, params, context):
            own(context)
            return await super().on_message_send(params, context)

        async def on_message_send_stream(self, params, context):
            own(context)
            async for event in super().on_message_send_stream(params, context):
                yield event

        async def on_get_task(self, params, context):
            own(context)
            return await super().on_get_task(params, context)

        async def on_list_tasks(self, params, context):
            own(context)
            return await super().on_list_tasks(params, context)

        async def on_cancel_task(self, params, context):
            own(context)
            return await super().on_cancel_task(params, context)

        async def on_subscribe_to_task(self, params, context):
            own(context)
            async for event in super().on_subscribe_to_task(params, context):
                yield event

    return OneTenant
