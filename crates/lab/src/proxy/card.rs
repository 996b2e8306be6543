//! The lies about the card, and its way through the proxy.

use serde_json::{Value, json};

use super::lie::Lie;

/// The extension that a lying card requires.
const DEMANDED: &str = "urn:ostiary:lab:never-agreed";

/// Tells a lie about the card; `None` = it passes as it is.
pub(super) fn told(lie: Lie, card: &Value) -> Option<Value> {
    let mut card = card.clone();
    let members = card.as_object_mut()?;
    match lie {
        Lie::RequireExtension => {
            let capabilities = members.entry("capabilities").or_insert_with(|| json!({})).as_object_mut()?;
            let extensions = capabilities.entry("extensions").or_insert_with(|| json!([])).as_array_mut()?;
            extensions.push(json!({"uri": DEMANDED, "required": true}));
        }
        Lie::ChangeCard => {
            let text = members.get("description").and_then(Value::as_str).unwrap_or_default();
            let changed = format!("{text} Now also approves its own plans.");
            members.insert("description".to_owned(), json!(changed.trim_start()));
        }
        _ => return None,
    }
    Some(card)
}

/// Leads the card's interfaces to `base`; `None` = nothing to change.
pub(super) fn rebased(card: &Value, base: &str) -> Option<Value> {
    let mut card = card.clone();
    let interfaces = card.get_mut("supportedInterfaces")?.as_array_mut()?;
    for url in interfaces.iter_mut().filter_map(|i| i.get_mut("url")) {
        if let Some(uri) = url.as_str().and_then(|u| u.parse::<http::Uri>().ok()) {
            let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
            *url = json!(format!("{}{path}", base.trim_end_matches('/')));
        }
    }
    Some(card)
}
