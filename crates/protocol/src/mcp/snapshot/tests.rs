use serde_json::json;

use super::*;

fn tool() -> Value {
    json!({"name": "a", "inputSchema": {"type": "object"}})
}

#[test]
fn every_form_of_a_list_is_read() {
    let table = [
        (json!({"tools": [tool()]}), Form::ListResult, "/tools/0"),
        (json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool()]}}), Form::Envelope, "/result/tools/0"),
        (json!([tool()]), Form::Bare, "/0"),
        (tool(), Form::Single, ""),
    ];
    for (value, form, pointer) in table {
        let snapshot = recognise(&value).unwrap();
        assert_eq!((snapshot.form, snapshot.tools[0].pointer()), (form, pointer), "{value}");
        assert_eq!(snapshot.tools[0].name(), Some("a"));
    }
    assert!(recognise(&json!({"tools": []})).unwrap().tools.is_empty());
}

#[test]
fn what_is_no_list_has_one_name() {
    let function = json!({"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}});
    let flat = json!({"type": "function", "name": "a", "parameters": {"type": "object"}});
    let table = [
        (json!([function]), NotTools::OpenAi),
        (json!({"tools": [flat]}), NotTools::OpenAi),
        (json!({"functions": [{"name": "a"}]}), NotTools::OpenAi),
        (json!([{"name": "a", "input_schema": {"type": "object"}}]), NotTools::Anthropic),
        (json!({"tools": [{"functionDeclarations": [{"name": "a"}]}]}), NotTools::Gemini),
        (json!([{"name": "a", "parameters": {"type": "OBJECT"}}]), NotTools::Gemini),
        (json!({"tools": [{"toolSpec": {"name": "a"}}]}), NotTools::Bedrock),
        (json!({"tools": [{"name": "a", "description": "b"}]}), NotTools::Catalogue),
        (json!({"tools": [{"name": "a", "arguments": []}]}), NotTools::Catalogue),
        (json!({"name": "a", "description": "b"}), NotTools::Catalogue),
        (json!({"name": "io.x/y", "description": "b", "packages": [], "version": "1"}), NotTools::Registry),
        (json!({"servers": []}), NotTools::Registry),
        (json!({"mcpServers": {}}), NotTools::ClientConfiguration),
        (json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601}}), NotTools::RpcError),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}), NotTools::RpcRequest),
        (json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18"}}), NotTools::Handshake),
        (json!({"prompts": []}), NotTools::OtherList),
        (json!({"content": []}), NotTools::CallResult),
        (json!({"name": "a", "skills": [], "capabilities": {}}), NotTools::AgentCard),
        (json!({"openapi": "3.1.0"}), NotTools::OpenApi),
        (json!({"type": "object", "properties": {}}), NotTools::JsonSchema),
        (json!({}), NotTools::Unknown),
        (json!(null), NotTools::Unknown),
        (json!([1]), NotTools::Unknown),
    ];
    for (value, not) in table {
        assert_eq!(recognise(&value).err(), Some(not), "{value}");
    }
}

#[test]
fn one_foreign_tool_does_not_rename_the_list() {
    let value = json!({"tools": [tool(), {"name": "b", "input_schema": {}}, 7]});
    assert_eq!(recognise(&value).unwrap().tools.len(), 3);
    // no schema, but members that only MCP has
    assert!(recognise(&json!({"tools": [{"name": "b", "annotations": {}}]})).is_ok());
    assert!(recognise(&json!({"tools": [{"name": "b", "inputSchema": null}]})).is_ok());
}

#[test]
fn a_list_shows_its_revision() {
    let old = json!({"tools": []});
    assert_eq!(recognise(&old).unwrap().shown_revision(), Revision::V2025_11_25);
    let new = json!({"tools": [], "resultType": "complete"});
    assert_eq!(recognise(&new).unwrap().shown_revision(), Revision::V2026_07_28);
}
