//! The page of promises (`docs/promises.md`): which id is shown by which executed pair, on which agent and binding.
//!
//! A row is in the page because a test drove an honest agent and its liar in this very run, see [`crate::pair`]. What the
//! committed page has and no run shows any more is lost, and that is a failure.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use crate::pair::{MEMORY, Pair};

/// The promises of the A2A side, with a few words each.
pub const PROMISES: [(&str, &str); 48] = [
    ("I-01", "each interface to be activated works by real calls"),
    ("I-02", "the protocol version is sent and handled"),
    ("I-03", "an unsupported version is refused"),
    ("I-04", "tenant routing is repeated, and is no authorization"),
    ("I-05", "undeclared streaming is refused"),
    ("I-06", "undeclared push notifications are refused"),
    ("I-07", "an undeclared extended card is not served"),
    ("I-08", "each mismatch has a reason code of its own"),
    ("I-09", "what is declared is exercised with success"),
    ("S-01", "modes, examples and artifact schemas of skills are kept"),
    ("S-02", "content type, fields and structure are judged, not wording"),
    ("S-03", "JSON declared, text returned, is caught"),
    ("S-04", "a description permits nothing and contradicts no schema"),
    ("S-05", "content of media is neither lost nor put in another order"),
    ("T-01", "only allowed transitions, and the hard rules always"),
    ("T-02", "a completed task is not opened again"),
    ("T-03", "a canceled task does not complete"),
    ("T-04", "a terminal task takes no message"),
    ("T-05", "another tenant's task is neither read nor canceled"),
    ("T-06", "no completion without a required artifact"),
    ("T-07", "time does not go back, duplicates are handled"),
    ("A-01", "a stream begins with a task or one message"),
    ("A-02", "a task's stream carries updates only"),
    ("A-03", "a stream closes at a terminal state"),
    ("A-04", "promised ids of events tell duplicates"),
    ("A-05", "unfinished is told from finished"),
    ("A-06", "callbacks go to the registered address alone"),
    ("A-07", "callback addresses are guarded"),
    ("A-08", "callbacks can be authenticated"),
    ("A-09", "a callback that comes again changes nothing"),
    ("A-10", "no callback after its registration is gone"),
    ("A-11", "what can be canceled is told from what cannot"),
    ("A-13", "a committed effect is not hidden as canceled"),
    ("A-14", "cancel at four points in time, and its races"),
    ("E-01", "errors are judged by condition and code"),
    ("E-02", "codes are those of the binding"),
    ("E-03", "errors leak nothing"),
    ("E-05", "accepted by the protocol is not success of the business"),
    ("W-01", "deadlines and gaps of progress"),
    ("W-02", "retries back off and end"),
    ("W-04", "a credential that ends in mid-task"),
    ("W-05", "duplicates after a reconnect"),
    ("W-06", "terminal states are kept as long as promised"),
    ("G-01", "negative cases are refused or caught"),
    ("G-02", "the six questions of a negative case"),
    ("O-01", "combinations are chosen by policy"),
    ("O-02", "what is covered by what, and what is not"),
    ("O-03", "past incidents are always tried"),
];

/// Who showed what, as one row of the first table says.
type Shown = BTreeSet<(String, String, String)>;

/// The page that these pairs make.
#[must_use]
pub fn page(pairs: &[Pair]) -> String {
    let (memory, real): (Vec<&Pair>, Vec<&Pair>) = pairs.iter().partition(|p| p.agent == MEMORY);
    let mut page = HEAD.to_owned();
    for (id, words) in PROMISES {
        let own: Vec<&&Pair> = real.iter().filter(|p| p.id == id).collect();
        let agents: BTreeSet<&str> = own.iter().map(|p| p.agent.as_str()).collect();
        let bindings: BTreeSet<&str> = own.iter().map(|p| p.binding.as_str()).collect();
        let of_memory = memory.iter().filter(|p| p.id == id).count();
        let _ = writeln!(
            page,
            "| {id} | {words} | {} | {} | {} | {of_memory} |",
            count(own.len()),
            listed(&agents),
            listed(&bindings)
        );
    }
    let shown = |id: &str| real.iter().any(|p| p.id == id);
    let open: Vec<&str> = PROMISES.iter().map(|(id, _)| *id).filter(|id| !shown(id)).collect();
    if !open.is_empty() {
        let _ = writeln!(page, "\nNo pair on a real agent yet: {}.", open.join(", "));
    }
    page.push_str(PAIRS);
    let mut rows: BTreeMap<[&str; 6], BTreeSet<&str>> = BTreeMap::new();
    for p in &real {
        rows.entry([&p.agent, &p.binding, &p.lie, &p.check, &p.layer, &p.code]).or_default().insert(&p.id);
    }
    for ([agent, binding, lie, check, layer, code], ids) in rows {
        let ids = ids.into_iter().collect::<Vec<_>>().join(", ");
        let _ = writeln!(page, "| {agent} | {binding} | {lie} | `{check}` | {layer} | `{code}` | {ids} |");
    }
    page
}

/// What a committed page shows and these pairs do not: id, agent and binding.
#[must_use]
pub fn lost(committed: &str, pairs: &[Pair]) -> Shown {
    let shown: Shown = pairs.iter().map(|p| (p.id.clone(), p.agent.clone(), p.binding.clone())).collect();
    of_page(committed).difference(&shown).cloned().collect()
}

/// What these pairs show and a committed page does not.
#[must_use]
pub fn gained(committed: &str, pairs: &[Pair]) -> Shown {
    let real = pairs.iter().filter(|p| p.agent != MEMORY);
    let shown: Shown = real.map(|p| (p.id.clone(), p.agent.clone(), p.binding.clone())).collect();
    shown.difference(&of_page(committed)).cloned().collect()
}

/// The rows of the second table of a page.
fn of_page(page: &str) -> Shown {
    let table = page.split_once(PAIRS).map_or("", |(_, table)| table);
    let mut shown = Shown::new();
    for line in table.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if let [agent, binding, .., ids] = cells.as_slice() {
            shown.extend(ids.split(", ").map(|id| (id.to_owned(), (*agent).to_owned(), (*binding).to_owned())));
        }
    }
    shown
}

const HEAD: &str = "# Promises and the pairs that show them

<!-- Generated from executed tests; do not edit: `cargo xtask promises --bless` after `cargo xtask test`. -->

Each row is made of pairs that the tests executed: an honest agent whose check passed, and a liar that the same check
caught, for the same profile. An agent on somebody else's SDK is a real agent; the agent in memory is that of unit tests,
whose recordings are changed. A promise with pairs in memory alone is not shown on the wire. `cargo xtask test` fails when
something that stands here is executed no more. What each check does stands in [checks.md](checks.md).

| id | promise | pairs on real agents | agents | bindings | pairs in memory |
|---|---|---|---|---|---|
";

const PAIRS: &str = "
## The pairs on real agents

| agent | binding | the liar | check | layer | code | ids |
|---|---|---|---|---|---|---|
";

fn count(n: usize) -> String {
    if n == 0 { "none".to_owned() } else { n.to_string() }
}

fn listed(all: &BTreeSet<&str>) -> String {
    if all.is_empty() { "–".to_owned() } else { all.iter().copied().collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(id: &str, agent: &str) -> Pair {
        let text = str::to_owned;
        Pair {
            id: text(id),
            agent: text(agent),
            binding: text("gRPC"),
            lie: text("cuts streams"),
            check: text("a2a.stream.works"),
            layer: text("protocol"),
            code: text("STREAM_TRUNCATED"),
        }
    }

    #[test]
    fn what_is_executed_no_more_is_lost() {
        let both = [pair("I-09", "one"), pair("A-05", "one")];
        let page = page(&both);
        assert!(page.contains(
            "| one | gRPC | cuts streams | `a2a.stream.works` | protocol | `STREAM_TRUNCATED` | A-05, I-09 |"
        ));
        assert_eq!(lost(&page, &both), Shown::new());
        assert_eq!(gained(&page, &both), Shown::new());
        let gone = ("A-05".to_owned(), "one".to_owned(), "gRPC".to_owned());
        assert_eq!(lost(&page, &both[..1]), [gone].into());
        assert_eq!(lost(&page, &[]).len(), 2);
    }

    #[test]
    fn pairs_in_memory_stand_for_no_real_agent() {
        let page = page(&[pair("T-02", MEMORY)]);
        let row = page.lines().find(|l| l.starts_with("| T-02 |")).unwrap_or_default();
        assert!(row.ends_with("| none | – | – | 1 |"), "{row}");
        let open = page.lines().find(|l| l.starts_with("No pair on a real agent")).unwrap_or_default();
        assert!(open.contains("T-02"), "{open}");
    }

    #[test]
    fn ids_stand_once_and_in_order_of_their_groups() {
        let ids: BTreeSet<&str> = PROMISES.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids.len(), PROMISES.len());
    }
}
