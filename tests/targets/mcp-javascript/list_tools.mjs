// What the official TypeScript client hears: the revision and all tools of a server, as JSON.
// list_tools.mjs legacy|auto URL, or list_tools.mjs legacy|auto COMMAND ARGUMENT…

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const installed = createRequire(process.env.MCP_SDK);
const load = (name) => import(pathToFileURL(installed.resolve(name)).href);
const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

const [mode, first, ...rest] = process.argv.slice(2);
const transport = first.includes("://")
  ? new StreamableHTTPClientTransport(new URL(first))
  : new StdioClientTransport({ command: first, args: rest, env: process.env, stderr: "ignore" });
const client = new Client({ name: "list-tools", version: "1.0.0" }, { versionNegotiation: { mode } });
await client.connect(transport);
const tools = [];
let cursor;
do {
  const page = await client.listTools(cursor === undefined ? undefined : { cursor });
  tools.push(...page.tools);
  cursor = page.nextCursor;
} while (cursor !== undefined);
console.log(JSON.stringify({ revision: client.getNegotiatedProtocolVersion(), tools }));
await client.close();
