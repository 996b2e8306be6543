//! Where a card of any version sends its readers, and whether two readings of it agree.
//!
//! A card may hold two versions at once, or be another one for callers that send no `A2A-Version`. Both must lead to the
//! same place: what was verified at one endpoint says nothing of the other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{address::Address, list_of, text_of};
use crate::a2a::binding::Binding;

/// One place that a card names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint<'a> {
    /// Where it stands in the card.
    pub pointer: String,
    /// As written.
    pub url: &'a str,
    /// Its binding, where one is named.
    pub binding: Option<Binding>,
}

/// An endpoint of one reading that the other reading does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// Where it stands.
    pub pointer: String,
    /// As written.
    pub url: String,
    /// The endpoints of the other reading.
    pub others: Vec<String>,
    /// Whether the other reading names another origin altogether: another machine, another owner.
    pub foreign: bool,
}

/// All endpoints that a card names, of its 1.0 part and of its 0.x part.
#[must_use]
pub fn endpoints(card: &Value) -> Vec<Endpoint<'_>> {
    let (mut out, legacy) = halves(card);
    out.extend(legacy);
    out
}

/// Whether the two halves of a blended card agree.
#[must_use]
pub fn disagreements_within(card: &Value) -> Vec<Disagreement> {
    let (new, old) = halves(card);
    if new.is_empty() { Vec::new() } else { unknown_to(&old, &new) }
}

/// Whether the card for callers of 1.0 and the card for callers that send no version agree; what the latter adds.
#[must_use]
pub fn disagreements_between(with_version: &Value, without: &Value) -> Vec<Disagreement> {
    let (known, plain) = (endpoints(with_version), endpoints(without));
    if known.is_empty() { Vec::new() } else { unknown_to(&plain, &known) }
}

fn halves(card: &Value) -> (Vec<Endpoint<'_>>, Vec<Endpoint<'_>>) {
    let entries = |list: &'static str, binding: &'static str| {
        let read = move |(n, entry)| {
            let url = text_of(entry, "url")?;
            let binding = text_of(entry, binding).map(Binding::parse);
            Some(Endpoint { pointer: format!("/{list}/{n}/url"), url, binding })
        };
        list_of(card, list).iter().enumerate().filter_map(read)
    };
    let transport = || text_of(card, "preferredTransport").map(Binding::parse);
    let root = text_of(card, "url").filter(|u| !u.is_empty());
    let root = root.map(|url| Endpoint { pointer: "/url".to_owned(), url, binding: transport() });
    let legacy = root.into_iter().chain(entries("additionalInterfaces", "transport")).collect();
    (entries("supportedInterfaces", "protocolBinding").collect(), legacy)
}

fn unknown_to(asked: &[Endpoint<'_>], known: &[Endpoint<'_>]) -> Vec<Disagreement> {
    let addresses: Vec<Address> = known.iter().filter_map(Endpoint::address).collect();
    let origins: BTreeSet<String> = addresses.iter().map(Address::host).collect();
    let texts: BTreeSet<&str> = known.iter().map(|e| e.url.trim_end_matches('/')).collect();
    let agrees = |e: &&Endpoint<'_>| {
        let address = e.address();
        !texts.contains(e.url.trim_end_matches('/'))
            && address.is_none_or(|a| addresses.iter().all(|other| other.normal() != a.normal()))
    };
    let disagreement = |e: &Endpoint<'_>| Disagreement {
        pointer: e.pointer.clone(),
        url: e.url.to_owned(),
        others: known.iter().map(|k| k.url.to_owned()).collect(),
        foreign: e.address().is_none_or(|a| !origins.contains(&a.host())),
    };
    asked.iter().filter(agrees).map(disagreement).collect()
}

// === impl Endpoint ===

impl Endpoint<'_> {
    /// Its address, where it has one.
    #[must_use]
    pub fn address(&self) -> Option<Address> {
        Address::parse(self.url, self.binding.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::a2a::card::tests::honest;

    fn blended(url: &str) -> Value {
        let mut card = honest();
        card["url"] = json!(url);
        card
    }

    #[test]
    fn halves_that_lead_to_one_place_agree() {
        for url in ["https://a.example/rpc", "https://a.example/rpc/", "https://A.example:443/rpc"] {
            assert_eq!(disagreements_within(&blended(url)), [], "{url}");
        }
        assert_eq!(disagreements_within(&honest()), []);
    }

    #[test]
    fn halves_that_part_are_told_and_how_far() {
        let path = disagreements_within(&blended("https://a.example/old"));
        assert_eq!((path[0].pointer.as_str(), path[0].foreign), ("/url", false));
        assert!(disagreements_within(&blended("https://evil.test/rpc"))[0].foreign);
    }

    #[test]
    fn a_negotiated_card_must_lead_to_the_same_place() {
        let plain = |url: &str| json!({"name": "x", "url": url, "protocolVersion": "0.3.0"});
        assert_eq!(disagreements_between(&honest(), &plain("https://a.example/rpc")), []);
        assert!(disagreements_between(&honest(), &plain("https://b.example/rpc"))[0].foreign);
        assert_eq!(disagreements_between(&honest(), &honest()), []);
    }
}
