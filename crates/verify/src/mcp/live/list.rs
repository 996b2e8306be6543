//! All pages of a server's tools.

use std::time::Duration;

use ostiary_protocol::mcp::{Answer, Listing, NextPage};
use serde_json::Value;

use super::{
    Patience,
    client::Client,
    view::{ListView, Problem},
};

/// Reads pages until the list is whole, or has to be given up.
pub(super) async fn read(client: &mut Client<'_>, patience: Patience) -> (Value, ListView) {
    let mut listing = Listing::new(client.speech.revision);
    let began = client.now();
    let mut cursor: Option<String> = None;
    let problem = loop {
        let reply = client.ask(|s, id| s.list_tools(id, cursor.as_deref()), patience.answer).await;
        let page = match reply.answer {
            Answer::Result(page) => page,
            Answer::Error(_) => break Some(Problem::new("error", reply.answer.describe())),
            Answer::Nothing(_) => break Some(Problem::new("no_answer", reply.answer.describe())),
            other => break Some(Problem::new("malformed", other.describe())),
        };
        match listing.take(page, client.bytes) {
            NextPage::Done => break None,
            NextPage::Stop(problem) => break Some(Problem::new(problem.as_str(), problem.to_string())),
            NextPage::At(next) => cursor = Some(next),
        }
        if Duration::from_nanos(client.now().0.saturating_sub(began.0)) > patience.list {
            let why = format!("not all pages came within {} s", patience.list.as_secs());
            break Some(Problem::new("too_slow", why));
        }
    };
    let told = ListView {
        document: String::new(),
        pages: listing.pages(),
        tools: listing.tools(),
        problem,
        scope_differs: listing.scope_differs(),
    };
    (listing.merged(), told)
}
