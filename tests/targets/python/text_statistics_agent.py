"""An ordinary agent on the official Python SDK: counts the words of a text.

It knows nothing of whoever verifies it. With `--jwks` it accepts only bearer tokens of the issuer whose keys the file
holds, and keeps each tenant's tasks to itself; without, it is open to everybody.
"""

import argparse
import json

import jwt
import uvicorn
from a2a.helpers import new_data_part, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCard
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, AuthenticationError, SimpleUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import JSONResponse


class CountWords(AgentExecutor):
    """Answers each message with one JSON artifact: words and characters."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = context.current_task or new_task_from_user_message(context.message)
        if context.current_task is None:
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        text = context.get_user_input()
        counts = {"words": len(text.split()), "characters": len(text)}
        await updater.add_artifact([new_data_part(counts, media_type="application/json")], name="counts")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel()


class Bearer(AuthenticationBackend):
    """Accepts EdDSA tokens of one issuer for one audience."""

    def __init__(self, keys, issuer, audience):
        self.keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(keys).keys}
        self.issuer = issuer
        self.audience = audience

    async def authenticate(self, conn):
        if conn.url.path.startswith("/.well-known/"):
            return None
        scheme, _, token = conn.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise AuthenticationError("a bearer token is required")
        try:
            key = self.keys[jwt.get_unverified_header(token)["kid"]]
            claims = jwt.decode(token, key.key, algorithms=["EdDSA"], issuer=self.issuer, audience=self.audience)
        except (jwt.PyJWTError, KeyError) as error:
            raise AuthenticationError("the token is not accepted") from error
        return AuthCredentials(["authenticated"]), SimpleUser(claims.get("tenant", claims["sub"]))


def refuse(_request, error):
    return JSONResponse({"error": str(error)}, status_code=401, headers={"www-authenticate": "Bearer"})


def card(url, protected):
    declared = {
        "name": "Text statistics",
        "description": "Counts the words and characters of a text.",
        "version": "1.0.0",
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": True, "pushNotifications": False, "extendedAgentCard": False},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["application/json"],
        "skills": [
            {
                "id": "count-words",
                "name": "Count words",
                "description": "Counts the words and characters of the text it is sent.",
                "tags": ["text"],
                "examples": ["the quick brown fox"],
            }
        ],
    }
    if protected:
        declared["securitySchemes"] = {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}}}
        declared["securityRequirements"] = [{"schemes": {"bearer": {"list": []}}}]
    return ParseDict(declared, AgentCard())


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--public-url", help="the URL that the card declares; default: the address it listens on")
    arguments.add_argument("--jwks", help="file with the issuer's keys; without it the agent is open")
    arguments.add_argument("--issuer", default="https://issuer.example.test")
    arguments.add_argument("--audience", default="text-statistics")
    options = arguments.parse_args()

    agent_card = card(options.public_url or f"http://127.0.0.1:{options.port}/rpc", options.jwks is not None)
    handler = DefaultRequestHandler(
        agent_executor=CountWords(), task_store=InMemoryTaskStore(), agent_card=agent_card, validate_input_modes=True
    )
    middleware = []
    if options.jwks:
        with open(options.jwks, encoding="utf-8") as file:
            backend = Bearer(json.load(file), options.issuer, options.audience)
        middleware.append(Middleware(AuthenticationMiddleware, backend=backend, on_error=refuse))
    routes = create_agent_card_routes(agent_card) + create_jsonrpc_routes(handler, "/rpc")
    app = Starlette(routes=routes, middleware=middleware)
    uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
