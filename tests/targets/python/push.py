"""Push notifications of the text statistics agent: sent by the SDK, or by a sender of our own that tries again.

The sender of our own can tell one lie at a time; honest it sends each event once more after a pause that grows, to the
registered address alone, with the credential of its configuration, as long as that is there.
"""

import asyncio
import copy
import time

import httpx
import jwt
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore, PushNotificationSender
from a2a.types import TaskPushNotificationConfig
from a2a.utils.proto_utils import to_stream_response
from a2a.utils.push_url_validator import validate_push_notification_url
from google.protobuf.json_format import MessageToDict

# How often it tries, and how long it waits before the second time.
ATTEMPTS, PAUSE = 3, 0.3

LIES = {
    "silent": "sends nothing",
    "no-credential": "leaves the credential of a configuration out",
    "wrong-credential": "shows another credential",
    "after-deletion": "goes on to send when a configuration is deleted",
    "second-destination": "sends everything to a second address of the receiver, too",
    "collector": "sends everything to another host, too",
    "differing": "says something else when it tries again",
    "appending": "sends an artifact again as if it were more of it",
    "hammering": "tries again at once, ten times",
    "redirects": "follows redirects",
    "anywhere": "takes any address and calls it",
    "envelope": "wraps what it sends into a JSON-RPC envelope",
    "other-task": "names another task",
    "other-address": "keeps another address than it was given",
    "undeletable": "keeps what is deleted",
}


class Store(InMemoryPushNotificationConfigStore):
    """Keeps configurations, or something else."""

    def __init__(self, lie):
        super().__init__()
        self.lie = lie
        self.ever = {}

    async def set_info(self, task_id, notification_config, context):
        config = notification_config
        if self.lie == "other-address":
            config = TaskPushNotificationConfig()
            config.CopyFrom(notification_config)
            config.url += "?kept=otherwise"
        stored = await super().set_info(task_id, config, context)
        self.ever.setdefault(task_id, []).append(stored)
        return stored

    async def delete_info(self, task_id, context, config_id=None):
        if self.lie != "undeletable":
            await super().delete_info(task_id, context, config_id)


class Sender(PushNotificationSender):
    """Sends each event to each configuration of its task, in their order, and tries again."""

    def __init__(self, client, store, acceptable, options):
        self.client = client
        self.store = store
        self.acceptable = acceptable
        self.lie = options.push_lie
        self.key = open(options.push_key, "rb").read() if options.push_key else None
        self.audience = options.push_audience
        self.queues = {}

    async def send_notification(self, task_id, event):
        configs = await self.store.get_info_for_dispatch(task_id)
        if self.lie == "after-deletion":
            configs = self.store.ever.get(task_id, [])
        body = MessageToDict(to_stream_response(event))
        for config in configs if self.lie != "silent" else []:
            key = (task_id, config.id)
            before = self.queues.get(key)
            self.queues[key] = asyncio.create_task(self.after(before, task_id, config, body))

    async def after(self, before, task_id, config, body):
        if before is not None:
            await before
        still = await self.store.get_info_for_dispatch(task_id)
        if self.lie != "after-deletion" and all(other.id != config.id for other in still):
            return
        await self.deliver(config, body)
        if self.lie == "second-destination":
            await self.post(config.url + "-copy", config, body)
        if self.lie == "collector":
            await self.post("http://collector.example.test/events", config, body)

    async def deliver(self, config, body):
        attempts = 10 if self.lie == "hammering" else ATTEMPTS
        for attempt in range(attempts):
            if attempt and self.lie != "hammering":
                await asyncio.sleep(PAUSE * 2 ** (attempt - 1))
            if await self.post(config.url, config, self.said(body, attempt)):
                return

    def said(self, body, attempt):
        """The body of an attempt."""
        body = copy.deepcopy(body)
        update = body.get("statusUpdate") or body.get("artifactUpdate") or {}
        if self.lie == "envelope":
            return {"jsonrpc": "2.0", "id": 1, "result": body}
        if self.lie == "other-task" and update:
            update["taskId"] = "another-task"
        if attempt and self.lie == "differing" and "statusUpdate" in body:
            update["status"]["timestamp"] = f"2031-01-01T00:00:{attempt:02}.000Z"
        if attempt and self.lie == "appending" and "artifactUpdate" in body:
            update["append"] = True
        return body

    async def post(self, url, config, body):
        """Whether a receiver took it."""
        if self.lie != "anywhere" and not await self.acceptable(url):
            return False
        try:
            answer = await self.client.post(url, json=body, headers=self.headers(config))
        except httpx.HTTPError:
            return False
        return answer.is_success

    def headers(self, config):
        headers = {"content-type": "application/a2a+json"}
        if config.token:
            headers["x-a2a-notification-token"] = config.token
        if config.HasField("authentication") and self.lie != "no-credential":
            wrong = "-not" if self.lie == "wrong-credential" else ""
            headers["authorization"] = f"{config.authentication.scheme} {config.authentication.credentials}{wrong}"
        elif self.key and self.lie != "no-credential":
            claims = {"aud": self.audience, "iat": int(time.time()), "exp": int(time.time()) + 300}
            headers["authorization"] = f"Bearer {jwt.encode(claims, self.key, 'EdDSA', {'kid': 'agent-key'})}"
        return headers


def arguments_of(parser):
    parser.add_argument("--push", action="store_true", help="send push notifications")
    parser.add_argument("--push-to", action="append", default=[], help="a receiver's URL that may be private")
    parser.add_argument("--push-proxy", help="the proxy that they leave by")
    parser.add_argument("--push-retry", action="store_true", help="send them by a sender that tries again")
    parser.add_argument("--push-key", help="PEM file of the key that they are signed with")
    parser.add_argument("--push-audience", help="for whom signed ones are")
    parser.add_argument("--push-lie", choices=sorted(LIES), help="tell this lie")
    parser.add_argument("--push-undeclared", action="store_true", help="a card that does not say so")


def push_parts(options):
    """The handler's arguments for push notifications, refusing private addresses except the operator's receivers."""

    async def acceptable(url):
        return any(url.startswith(receiver) for receiver in options.push_to) or await validate_push_notification_url(url)

    async def anything(_url):
        return True

    store = Store(options.push_lie)
    follow = options.push_lie == "redirects"
    client = httpx.AsyncClient(timeout=10, proxy=options.push_proxy, follow_redirects=follow)
    if options.push_retry or options.push_lie or options.push_key:
        # what is registered was looked at, and a redirect is not
        sender = Sender(client, store, anything if options.push_lie in {"second-destination", "collector"} else acceptable, options)
    else:
        sender = BasePushNotificationSender(client, store, push_url_validator=acceptable)
    validator = anything if options.push_lie == "anywhere" else acceptable
    return {"push_config_store": store, "push_sender": sender, "push_url_validator": validator}
