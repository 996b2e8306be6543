"""A small MCP server of both eras, on the official Python SDK or on FastMCP: over stdio, or over HTTP with --port.

--extra adds a tool that no snapshot knows: the lie of a server that changed in silence.
"""

import argparse

READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
INSTRUCTIONS = "Tools that look at texts."


def count_words(text: str) -> dict[str, int]:
    """Counts the words of a text."""
    return {"words": len(text.split())}


def forward_text(text: str) -> dict[str, int]:
    """Sends a text away."""
    return count_words(text)


def official():
    from mcp.server.mcpserver import MCPServer
    from mcp.types import ToolAnnotations

    server = MCPServer("text-tools", version="1.0.0", instructions=INSTRUCTIONS)
    return server, lambda tool: server.tool(annotations=ToolAnnotations(**READS))(tool)


def fastmcp():
    from fastmcp import FastMCP

    server = FastMCP("text-tools", version="1.0.0", instructions=INSTRUCTIONS)
    return server, lambda tool: server.tool(annotations=READS)(tool)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sdk", choices=["mcp", "fastmcp"], default="mcp")
    parser.add_argument("--port", type=int)
    parser.add_argument("--extra", action="store_true")
    options = parser.parse_args()
    server, register = official() if options.sdk == "mcp" else fastmcp()
    for tool in [count_words, *([forward_text] if options.extra else [])]:
        register(tool)
    quiet = {"show_banner": False} if options.sdk == "fastmcp" else {}
    if options.port is None:
        server.run("stdio", **quiet)
    else:
        server.run("streamable-http", host="127.0.0.1", port=options.port, **quiet)


main()
