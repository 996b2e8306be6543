"""An ordinary agent on the official Python SDK: counts the words of a text.

It knows nothing of whoever verifies it. With `--jwks` it accepts only bearer tokens of the issuer whose keys the file
holds, and keeps each tenant's tasks to itself; with `--discover` it looks the issuer's keys and algorithms up by OpenID
Connect discovery when it is first asked. Without either it is open to everybody. It always speaks JSON-RPC, HTTP+JSON
with `--rest-url`, and gRPC with `--grpc-port` and `--grpc-url`.

The SDK's gRPC server does not look at the protocol version of a request, so that the agent does;
`--any-grpc-version` leaves it to the SDK.

`--extension` and `--extended-card` declare what they say; `careful.py` keeps it, and `--fault` leaves one thing of it out.

With `--push` it tells of changes of a task where it is asked to, and refuses addresses of its own network, except below
the `--push-to` that its operator names. What messages it understands is in `count_words.py`, what it does with a
`--store` in `stored.py`. `--messages`, `--late`, `--narrow` and `--tenant` make it honest in another way; which promises it
breaks where it is told to is in `unkept.py`.
"""

import argparse
import asyncio
import functools
import json

import chart
import jwt
import push
import requests
import uvicorn
from a2a.auth.user import User
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCard
from a2a.utils.errors import VersionNotSupportedError
from careful import FAULTS, Careful
from count_words import CountWords, SayCounts
from google.protobuf.json_format import ParseDict
from numbered import CountNumbered
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, AuthenticationError, SimpleUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Mount, Router
from stored import Stored
from unkept import CancelingHandler, Forgetting, WithCaller, remembering
from variants import Late, Narrow, of_tenant


class FileKeys:
    """The issuer's keys from a file."""

    algorithms = ["EdDSA"]

    def __init__(self, keys):
        self.keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(keys).keys}

    def key_of(self, token):
        return self.keys[jwt.get_unverified_header(token)["kid"]].key


class DiscoveredKeys:
    """The issuer's keys as it publishes them."""

    def __init__(self, issuer):
        self.issuer = issuer
        self.client = None
        self.algorithms = []

    def key_of(self, token):
        if self.client is None:
            metadata = requests.get(f"{self.issuer}/.well-known/openid-configuration", timeout=10).json()
            self.algorithms = metadata["id_token_signing_alg_values_supported"]
            self.client = jwt.PyJWKClient(metadata["jwks_uri"])
        return self.client.get_signing_key_from_jwt(token).key


class Bearer(AuthenticationBackend):
    """Accepts tokens of one issuer for one audience."""

    def __init__(self, keys, issuer, audience):
        self.keys = keys
        self.issuer = issuer
        self.audience = audience

    async def authenticate(self, conn):
        if conn.url.path.startswith("/.well-known/"):
            return None
        tenant = self.tenant(conn.headers.get("authorization", ""))
        return AuthCredentials(["authenticated"]), SimpleUser(tenant)

    def tenant(self, authorization):
        """Whose token a header field holds."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise AuthenticationError("a bearer token is required")
        try:
            # The keys first: with discovery the algorithms are known only afterwards.
            key = self.keys.key_of(token)
            claims = jwt.decode(
                token, key, algorithms=self.keys.algorithms, issuer=self.issuer, audience=self.audience
            )
        except (jwt.PyJWTError, KeyError) as error:
            raise AuthenticationError("the token is not accepted") from error
        return claims.get("tenant", claims["sub"])


class Tenant(User):
    """A caller over gRPC, known by its token."""

    def __init__(self, name):
        self.name = name

    @property
    def is_authenticated(self):
        return True

    @property
    def user_name(self):
        return self.name


def grpc_server(handler, port, backend, any_version):
    """The agent over gRPC; the SDK leaves credentials and versions to whoever uses it."""
    import grpc
    from a2a.server.request_handlers.grpc_handler import DefaultGrpcServerCallContextBuilder, GrpcHandler
    from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server

    class Caller(DefaultGrpcServerCallContextBuilder):
        def build(self, context):
            version = dict(context.invocation_metadata()).get("a2a-version")
            if not any_version and version != "1.0":
                raise VersionNotSupportedError(message=f"version {version} is not supported")
            return super().build(context)

        def build_user(self, context):
            if backend is None:
                return super().build_user(context)
            return Tenant(backend.tenant(dict(context.invocation_metadata())["authorization"]))

    class Credentials(grpc.aio.ServerInterceptor):
        async def intercept_service(self, continuation, details):
            handler = await continuation(details)
            try:
                backend.tenant(dict(details.invocation_metadata).get("authorization", ""))
            except AuthenticationError as error:
                why = str(error)

                async def refused(_request, context):
                    await context.abort(grpc.StatusCode.UNAUTHENTICATED, why)

                async def refused_stream(_request, context):
                    await context.abort(grpc.StatusCode.UNAUTHENTICATED, why)
                    yield

                if handler is None:
                    return None
                codecs = {"request_deserializer": handler.request_deserializer}
                codecs["response_serializer"] = handler.response_serializer
                if handler.response_streaming:
                    return grpc.unary_stream_rpc_method_handler(refused_stream, **codecs)
                return grpc.unary_unary_rpc_method_handler(refused, **codecs)
            return handler

    server = grpc.aio.server(interceptors=[Credentials()] if backend else [])
    add_A2AServiceServicer_to_server(GrpcHandler(handler, context_builder=Caller()), server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    return server


def refuse(_request, error):
    return JSONResponse({"error": str(error)}, status_code=401, headers={"www-authenticate": "Bearer"})


def card(interfaces, protected, pushes, options):
    tenant = {"tenant": options.tenant} if options.tenant else {}
    declared = {
        "name": "Text statistics",
        "description": "Counts the words and characters of a text.",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": url, "protocolBinding": binding, "protocolVersion": "1.0", **tenant}
            for binding, url in interfaces
            if url
        ],
        "capabilities": {"streaming": not options.narrow, "pushNotifications": pushes, "extendedAgentCard": False},
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
    arguments.add_argument("--discover", action="store_true", help="look the issuer's keys up by discovery")
    arguments.add_argument("--issuer", default="https://issuer.example.test")
    arguments.add_argument("--audience", default="text-statistics")
    arguments.add_argument("--rest-url", help="the URL of HTTP+JSON that the card declares; without it there is none")
    arguments.add_argument("--grpc-port", type=int, help="the port of gRPC; without it there is none")
    arguments.add_argument("--grpc-url", help="the address of gRPC that the card declares")
    arguments.add_argument("--any-grpc-version", action="store_true", help="do not look at versions over gRPC")
    push.arguments_of(arguments)
    arguments.add_argument("--event-ids", action="store_true", help="number the events of streams")
    arguments.add_argument("--messages", action="store_true", help="answer with messages, without any task")
    arguments.add_argument("--late", type=int, default=0, help="milliseconds before every answer over HTTP")
    arguments.add_argument("--narrow", action="store_true", help="no streaming, and plain text alone")
    arguments.add_argument("--tenant", help="the tenant that the card declares, and every request has to name")
    arguments.add_argument("--store", help="the HOST:PORT of a store without which nothing is counted")
    arguments.add_argument("--store-attempts", type=int, default=3, help="how often an unreachable store is tried")
    arguments.add_argument("--store-backoff-ms", type=int, default=200, help="the pause before the second attempt")
    arguments.add_argument("--unkept", choices=UNKEPT, help="the promise that is broken on purpose")
    arguments.add_argument("--extension", help="an extension that callers must name")
    arguments.add_argument("--extended-card", choices=["same", "other", "absent"], help="declare an extended card")
    arguments.add_argument("--any-input", action="store_true", help="do not look at the media types of parts")
    arguments.add_argument("--undeclared-rest", action="store_true", help="serve HTTP+JSON, which the card does not name")
    arguments.add_argument("--chart", choices=["whole", *chart.FAULTS], help="answer with claims and a picture, too")
    arguments.add_argument("--fault", action="append", default=[], choices=FAULTS, help="leave one thing out")
    asyncio.run(serve(arguments.parse_args()))


UNKEPT = ["forgets-tasks", "remembers-tokens", "cancels-with-caller", "gives-store-up"]


def declare(agent_card, options):
    """What the options add to the card."""
    if options.extension:
        agent_card.capabilities.extensions.add(uri=options.extension, required=True)
    if options.chart:
        agent_card.default_output_modes.append("image/png")
    if options.extended_card:
        agent_card.capabilities.extended_agent_card = True
    return agent_card


def extended(agent_card, which):
    """The card for callers that are known: as the public one, with its last skill lost, or none."""
    if which not in ("same", "other"):
        return None
    fuller = AgentCard()
    fuller.CopyFrom(agent_card)
    if which == "other":
        del fuller.skills[-1]
    return fuller


def kind(options):
    if options.unkept == "cancels-with-caller":
        return CancelingHandler
    if options.narrow:
        return Narrow
    if options.tenant and "any-tenant" not in options.fault:
        return of_tenant(options.tenant)
    return functools.partial(Careful, extension=options.extension, faults=options.fault)


def executor(options):
    if options.messages:
        return SayCounts()
    if options.event_ids:
        return CountNumbered()
    if options.store:
        gives_up = options.unkept == "gives-store-up"
        return Stored(options.store, options.store_attempts, options.store_backoff_ms, gives_up)
    return CountWords(chart.charted(options.chart)) if options.chart else CountWords()


async def serve(options):
    json_rpc = options.public_url or f"http://127.0.0.1:{options.port}/rpc"
    interfaces = [("JSONRPC", json_rpc), ("HTTP+JSON", options.rest_url), ("GRPC", options.grpc_url)]
    protected = options.jwks is not None or options.discover
    agent_card = declare(card(interfaces, protected, options.push, options), options)
    handler = kind(options)(
        agent_executor=executor(options),
        task_store=Forgetting() if options.unkept == "forgets-tasks" else InMemoryTaskStore(),
        agent_card=agent_card,
        extended_agent_card=extended(agent_card, options.extended_card),
        validate_input_modes=not options.any_input,
        **(push.push_parts(options) if options.push else {}),
    )
    middleware, backend = [], None
    keys = DiscoveredKeys(options.issuer) if options.discover else None
    if options.jwks:
        with open(options.jwks, encoding="utf-8") as file:
            keys = FileKeys(json.load(file))
    if keys:
        bearer = remembering(Bearer) if options.unkept == "remembers-tokens" else Bearer
        backend = bearer(keys, options.issuer, options.audience)
        middleware.append(Middleware(AuthenticationMiddleware, backend=backend, on_error=refuse))
    if options.grpc_port:
        # held to the end: a server that nobody holds stops
        over_grpc = grpc_server(handler, options.grpc_port, backend, options.any_grpc_version)
        await over_grpc.start()
    shown = declare(card(interfaces, protected, options.push and not options.push_undeclared, options), options)
    routes = create_agent_card_routes(shown) + create_jsonrpc_routes(handler, "/rpc")
    if options.rest_url:
        # with a prefix of its own the SDK looks for the tenant before the prefix, where no client puts it
        routes.append(Mount("/rest", app=Router(create_rest_routes(handler), redirect_slashes=False)))
    if options.undeclared_rest:
        routes += create_rest_routes(handler)
    if options.late:
        middleware.insert(0, Middleware(Late, milliseconds=options.late))
    app = Starlette(routes=routes, middleware=middleware)
    if options.unkept == "cancels-with-caller":
        app = WithCaller(app)
    await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=options.port, log_level="warning")).serve()


if __name__ == "__main__":
    main()
