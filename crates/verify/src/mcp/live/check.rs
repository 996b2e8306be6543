//! What is judged of live servers alone: the revision they speak, the wholeness of their lists, and whether these are the
//! bundle's.

use ostiary_contract::file::tools::ToolSnapshot;
use ostiary_protocol::mcp::Revision;
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::Value;

use super::{
    compare::{Difference, Kind, differences},
    view::{EraView, ListView, Outcome, View},
};
use crate::{
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    mcp::check::pinned,
};

/// All checks of live servers.
pub(crate) fn checks() -> Vec<Box<dyn Check>> {
    vec![Box::new(Spoken), Box::new(Whole), Box::new(Unchanged)]
}

/// A server speaks the revision that it is to be judged by.
struct Spoken;
/// A server's list comes to an end.
struct Whole;
/// A server's list is the bundle's.
struct Unchanged;

/// What all of them share.
const SHARED: CheckSpec = CheckSpec {
    id: "",
    version: 1,
    summary: "",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &[],
    reads: Reads::Declarations,
    depends: &[Input::Candidate, Input::Contract, Input::Environment],
    reasons: &[],
    severity: Severity::Error,
    liar: "",
};

static SPOKEN: CheckSpec = CheckSpec {
    id: "mcp.revision.spoken",
    summary: "Each MCP server speaks the revision that the contract pins; without a pin, one that we know.",
    covers: &["P-05", "M-06"],
    reasons: &[ReasonCode::McpRevisionNotSpoken],
    liar: "a_server_of_another_revision_is_caught",
    ..SHARED
};

static WHOLE: CheckSpec = CheckSpec {
    id: "mcp.tools.whole",
    summary: "The list of tools that a server gives now can be read to its end.",
    covers: &["M-04"],
    reasons: &[ReasonCode::ToolListIncomplete, ReasonCode::ToolListMalformed, ReasonCode::ToolFieldInvalid],
    liar: "a_list_that_leads_in_a_circle_is_caught",
    ..SHARED
};

static UNCHANGED: CheckSpec = CheckSpec {
    id: "mcp.tools.unchanged",
    summary: "The tools that a server gives now are those of the bundle, for the same client, authorization and tenant.",
    covers: &["M-01", "M-04", "M-05"],
    reasons: &[ReasonCode::ToolListChanged],
    liar: "a_tool_that_came_went_or_changed_is_caught",
    ..SHARED
};

// === impl Spoken ===

impl Check for Spoken {
    fn spec(&self) -> &'static CheckSpec {
        &SPOKEN
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let pinned = pinned(facts.bundle());
        let judge = |(view, at): (View, EventRef)| spoken(facts, &view, at, pinned);
        or_no_server(facts, View::all(&facts.discovered().recording).into_iter().map(judge).collect())
    }
}

fn spoken(facts: &Facts<'_>, view: &View, at: EventRef, pinned: Option<Revision>) -> Finding {
    let document = view.document();
    let spoken: Vec<Revision> = view.eras().into_iter().filter_map(EraView::spoken).collect();
    let list = |revisions: &[Revision]| revisions.iter().map(|r| r.as_str()).collect::<Vec<_>>().join(" and ");
    let name = format!("`{}` over {} as {}", view.server, view.wire, view.profile());
    match pinned {
        None if !spoken.is_empty() => {
            facts.pass(vec![at]).with_message(format!("{name} speaks {}", list(&spoken))).at_pointer(document, "")
        }
        Some(pin) if spoken.contains(&pin) => facts
            .pass(vec![at])
            .with_message(format!("{name} speaks {}, {pin} among it", list(&spoken)))
            .at_pointer(document, ""),
        _ if spoken.is_empty() && undecided(view).is_some() => {
            let (reason, why) = undecided(view).unwrap_or((ReasonCode::ObservationIncomplete, String::new()));
            facts.inconclusive(reason, name, why).at_pointer(document, "")
        }
        _ => {
            let expected = pinned.map_or_else(|| "a revision that we know".to_owned(), |pin| pin.to_string());
            let observed = if spoken.is_empty() { named(view) } else { list(&spoken) };
            let finding = facts.fail(ReasonCode::McpRevisionNotSpoken, vec![at], expected.clone(), observed.clone());
            let message = format!("{name}: expected {expected}; observed {observed}");
            finding.with_message(message).at_pointer(document, "")
        }
    }
}

/// Why it cannot be told what a server speaks; `None` where it said so.
fn undecided(view: &View) -> Option<(ReasonCode, String)> {
    let of = |outcome| view.eras().into_iter().find(|era| era.outcome == outcome);
    let told = |reason, era: &EraView| (reason, era.why.clone().unwrap_or_default());
    if of(Outcome::Unknown).is_some() {
        return None;
    }
    let denied = of(Outcome::Denied).or_else(|| of(Outcome::NotAsked));
    denied
        .map(|era| told(ReasonCode::SubjectMissing, era))
        .or_else(|| of(Outcome::Unreachable).map(|era| told(ReasonCode::TargetUnreachable, era)))
        .or_else(|| of(Outcome::Silent).map(|era| told(ReasonCode::TargetUnresponsive, era)))
}

/// What a server says instead.
fn named(view: &View) -> String {
    let of = |era: &EraView| match era.outcome {
        Outcome::Unknown => era.versions.join(", "),
        _ => era.why.clone().unwrap_or_default(),
    };
    format!("server/discover: {}; initialize: {}", of(&view.stateless), of(&view.sessions))
}

// === impl Whole ===

impl Check for Whole {
    fn spec(&self) -> &'static CheckSpec {
        &WHOLE
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let mut out = Vec::new();
        for (view, at) in View::all(&facts.discovered().recording) {
            let spoken = [("/stateless", &view.stateless), ("/sessions", &view.sessions)];
            for (pointer, era) in spoken.into_iter().filter(|(_, era)| era.outcome == Outcome::Speaks) {
                out.push(match &era.list {
                    Some(list) => whole(facts, &view, list, at.clone()),
                    None => facts.not_applicable(view.document(), format!("{pointer}/handshake/capabilities")),
                });
            }
        }
        or_no_server(facts, out)
    }
}

fn whole(facts: &Facts<'_>, view: &View, list: &ListView, at: EventRef) -> Finding {
    let at = facts.document(&list.document).map_or(at, |(_, at)| at);
    let count = format!("{} tools on {} pages", list.tools, list.pages);
    let finding = match &list.problem {
        None if list.scope_differs => {
            let expected = "one `cacheScope` for all pages of a list";
            facts
                .fail(ReasonCode::ToolFieldInvalid, vec![at], expected, "pages with different ones")
                .with_detail("cache_scope_differs")
        }
        None => facts.pass(vec![at]).with_message(format!("`{}` gives {count}", view.server)),
        Some(problem) if ["no_answer", "too_slow"].contains(&problem.what.as_str()) => {
            facts.inconclusive(ReasonCode::TargetUnresponsive, list.document.clone(), problem.why.clone())
        }
        Some(problem) => {
            let malformed = ["error", "malformed", "no_tools"].contains(&problem.what.as_str());
            let reason = if malformed { ReasonCode::ToolListMalformed } else { ReasonCode::ToolListIncomplete };
            let observed = format!("{} ({count} were read)", problem.why);
            facts.fail(reason, vec![at], "a list that ends, page by page", observed).with_detail(problem.what.clone())
        }
    };
    finding.at_pointer(list.document.clone(), "")
}

// === impl Unchanged ===

impl Check for Unchanged {
    fn spec(&self) -> &'static CheckSpec {
        &UNCHANGED
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let views = View::all(&facts.discovered().recording);
        if views.is_empty() {
            return vec![no_server(facts)];
        }
        let snapshots = &facts.bundle().tools;
        let mut out: Vec<Finding> = snapshots.iter().flat_map(|snapshot| unchanged(facts, snapshot, &views)).collect();
        let declared = |view: &View| snapshots.iter().any(|s| s.server == view.server);
        let others = views.iter().filter(|(view, _)| !declared(view));
        out.extend(others.map(|(view, _)| {
            let message = format!("the bundle holds no snapshot of `{}` to compare with", view.server);
            facts.not_applicable("contract.yaml", "/contract_bundle/declarations/mcp_tools").with_message(message)
        }));
        out
    }
}

fn unchanged(facts: &Facts<'_>, snapshot: &ToolSnapshot, views: &[(View, EventRef)]) -> Vec<Finding> {
    let profile = snapshot.profile.clone().unwrap_or_else(|| "harness.default.default".to_owned());
    let found = views.iter().find(|(view, _)| view.server == snapshot.server && view.profile() == profile);
    let missing = |why: String| vec![facts.inconclusive(ReasonCode::ObservationIncomplete, &snapshot.path, why)];
    let Some((view, _)) = found else {
        return missing(format!("the environment leads to no server `{}` as {profile}", snapshot.server));
    };
    let Some(list) = comparable(view, snapshot, pinned(facts.bundle())) else {
        return missing(format!("no list of `{}` could be read now", view.server));
    };
    if let Some(problem) = &list.problem {
        return missing(format!("the list of now is not whole: {}", problem.why));
    }
    let Some((bytes, at)) = facts.document(&list.document) else {
        return missing(format!("`{}` is not on the tape", list.document));
    };
    let now: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let before: Vec<&Value> = snapshot.tools.iter().map(|tool| &tool.value).collect();
    let now: Vec<&Value> = now.get("tools").and_then(Value::as_array).into_iter().flatten().collect();
    let found = differences(&before, &now);
    let mut out: Vec<Finding> = found.iter().map(|d| finding(facts, &snapshot.path, d, at.clone())).collect();
    if found.iter().all(|d| d.kind == Kind::Cosmetic) {
        let message = format!("the {} tools of `{}` are those of the bundle, for {profile}", now.len(), view.server);
        out.push(facts.pass(vec![at]).with_message(message).at_pointer(&snapshot.path, ""));
    }
    out
}

/// The list of the revision that the snapshot is of: the contract's pin, or what the snapshot shows; where that is not
/// spoken, the one that is.
fn comparable<'v>(view: &'v View, snapshot: &ToolSnapshot, pinned: Option<Revision>) -> Option<&'v ListView> {
    let shown = ostiary_protocol::mcp::recognise(&snapshot.value).ok().map(|s| s.shown_revision());
    let stateless = pinned.or(shown).is_some_and(Revision::is_stateless);
    let (first, second) = if stateless { (&view.stateless, &view.sessions) } else { (&view.sessions, &view.stateless) };
    match pinned {
        Some(_) => first.list.as_ref(),
        None => first.list.as_ref().or(second.list.as_ref()),
    }
}

fn finding(facts: &Facts<'_>, path: &str, difference: &Difference, at: EventRef) -> Finding {
    let Difference { tool, kind, pointer } = difference;
    let (detail, expected, observed) = match kind {
        Kind::Added => ("tool_added", format!("no tool `{tool}`"), "a new tool".to_owned()),
        Kind::Removed => ("tool_removed", format!("the tool `{tool}`"), "nothing".to_owned()),
        Kind::Changed => {
            ("tool_changed", format!("tool `{tool}` as in the bundle"), format!("a change at `{pointer}`"))
        }
        Kind::Cosmetic => {
            ("tool_text", format!("tool `{tool}` as in the bundle"), format!("another text at `{pointer}`"))
        }
    };
    let finding = facts.fail(ReasonCode::ToolListChanged, vec![at], expected, observed);
    let severity = if *kind == Kind::Cosmetic { Severity::Warning } else { Severity::Error };
    finding.with_detail(detail).at_pointer(path, "").as_severity(severity)
}

/// Nothing is promised of servers that the environment does not name.
fn or_no_server(facts: &Facts<'_>, findings: Vec<Finding>) -> Vec<Finding> {
    match View::all(&facts.discovered().recording) {
        views if views.is_empty() => vec![no_server(facts)],
        _ if findings.is_empty() => {
            let remedy = "no era of any server could be spoken";
            vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "tools/list", remedy)]
        }
        _ => findings,
    }
}

fn no_server(facts: &Facts<'_>) -> Finding {
    let message = "the environment names no MCP server, so that nothing live was looked at";
    facts.not_applicable("environment.yaml", "/environment/mcp").with_message(message)
}
