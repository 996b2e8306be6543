"""What the official Python client hears: the revision and all tools of a server, as JSON.

list_tools.py legacy|auto URL, or list_tools.py legacy|auto COMMAND ARGUMENT...
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters


async def main():
    mode, first, *rest = sys.argv[1:]
    server = first if "://" in first else StdioServerParameters(command=first, args=rest, env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        tools, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools += [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
        print(json.dumps({"revision": client.protocol_version, "tools": tools}))


asyncio.run(main())
