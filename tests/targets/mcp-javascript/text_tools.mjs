// A small MCP server on the official TypeScript SDK v2, of both eras: over stdio, or over Streamable HTTP with --port.
// --extra adds a tool that no snapshot knows: the lie of a server that changed in silence.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// the SDK lies with the other installed targets, not beside this file
const installed = createRequire(process.env.MCP_SDK);
const load = (name) => import(pathToFileURL(installed.resolve(name)).href);
const { McpServer, createMcpHandler, fromJsonSchema } = await load("@modelcontextprotocol/server");
const { serveStdio } = await load("@modelcontextprotocol/server/stdio");
const { toNodeHandler } = await load("@modelcontextprotocol/node");

const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

function make() {
  const server = new McpServer(
    { name: "text-tools", version: "1.0.0" },
    { instructions: "Tools that look at texts.", capabilities: { tools: {} } },
  );
  const count = {
    description: "Counts the words of a text.",
    annotations: READS,
    inputSchema: fromJsonSchema({
      type: "object",
      properties: { text: { type: "string", maxLength: 10000 } },
      required: ["text"],
      additionalProperties: false,
    }),
    outputSchema: fromJsonSchema({
      type: "object",
      properties: { words: { type: "integer", minimum: 0 } },
      required: ["words"],
      additionalProperties: false,
    }),
  };
  const words = ({ text }) => ({ words: text.split(/\s+/).filter(Boolean).length });
  const answer = (result) => ({ content: [{ type: "text", text: JSON.stringify(result) }], structuredContent: result });
  server.registerTool("count_words", count, async (input) => answer(words(input)));
  if (process.argv.includes("--extra")) {
    server.registerTool("forward_text", { ...count, description: "Sends a text away." }, async (input) => answer(words(input)));
  }
  return server;
}

const at = process.argv.indexOf("--port");
if (at < 0) {
  serveStdio(make);
} else {
  const handle = toNodeHandler(createMcpHandler(make));
  createServer((request, response) => handle(request, response)).listen(Number(process.argv[at + 1]), "127.0.0.1");
}
