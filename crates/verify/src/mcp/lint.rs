//! One document, all that is to say about it.

use std::collections::BTreeMap;

use ostiary_canon::json::{Integers, Limits, parse_strict};
use ostiary_protocol::mcp::{Declared, Form, HintKind, Revision, Snapshot, Tool, recognise};
use ostiary_record::{Outcome, ReasonCode, Severity};
use serde::Serialize;

use super::{claim, hints, list, members, pattern::Patterns, schema, text};

/// Said wherever hints are shown (N-01).
pub const ANNOTATIONS: &str = "Annotations are hints of the server about itself. They never grant permission; what is not said counts as the worst \
     case.";

/// How a snapshot is read: 10,000 tools of a real size fit many times, and a schema that is too deep is the fault of its
/// tool long before it is that of the document. Integers are kept as written: nothing is digested here.
const LIMITS: Limits = Limits { bytes: 64 << 20, depth: 200, integers: Integers::Wide, values: u32::MAX };

/// Issues of one aspect that are told of one tool: enough to repair, bounded for a hostile list.
const MOST_EACH: usize = 10;

/// What an issue is about; one check each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// The document as a list of tools.
    List,
    /// The members of a tool, its name among them.
    Members,
    /// Its schemas.
    Schema,
    /// The references in its schemas.
    References,
    /// Its hints.
    Hints,
    /// What its texts hide.
    Text,
    /// Whether its descriptions agree with the rest.
    Claims,
}

/// Something to say about a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// What it is about.
    pub aspect: Aspect,
    /// How much it counts.
    pub severity: Severity,
    /// Why; `None` for what is right and worth knowing.
    pub reason: Option<ReasonCode>,
    /// A stable detail.
    pub detail: &'static str,
    /// JSON pointer into the document.
    pub pointer: String,
    /// The tool's place in the list; `None` for the list as a whole.
    pub tool: Option<usize>,
    /// What there should be.
    pub expected: String,
    /// What there is.
    pub observed: String,
}

/// A hint as declared and as it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HintReport {
    /// What is declared; `None` where nothing usable is.
    pub declared: Option<bool>,
    /// What to reckon with; `None` where the hint means nothing, as for what only reads.
    pub effective: Option<bool>,
}

/// The verdict on one tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolReport {
    /// Its name, with what is invisible in it made visible.
    pub name: Option<String>,
    /// Its place in the document.
    pub pointer: String,
    /// FAIL when something is wrong with this tool.
    pub verdict: Outcome,
    /// How many warnings.
    pub warnings: usize,
    /// The four hints by the members' names.
    pub hints: BTreeMap<&'static str, HintReport>,
}

/// What is to say about one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// What kind of document it is.
    pub form: &'static str,
    /// The revision it was judged by.
    pub revision: Revision,
    /// Each tool; empty where the document is no list of tools.
    pub tools: Vec<ToolReport>,
    /// Everything to say, in document order.
    pub issues: Vec<Issue>,
}

/// The snapshots of a bundle, by path.
pub(crate) type Linted = BTreeMap<String, Lint>;

/// Collects issues of the list, then of one tool after the other.
pub(super) struct Sink {
    pub(super) revision: Revision,
    pub(super) patterns: Patterns,
    issues: Vec<Issue>,
    tool: Option<usize>,
    counts: BTreeMap<Aspect, usize>,
}

/// A list that is to be linted.
pub(crate) struct Held<'a> {
    /// Its name in findings.
    pub(crate) path: String,
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
    /// The revision to judge it by; `None` = the one that it shows.
    pub(crate) revision: Option<Revision>,
    /// Whether it is just what a server said: files are often trimmed.
    pub(crate) live: bool,
}

/// Lints documents once for all checks.
pub(crate) fn lint_all<'a>(documents: impl Iterator<Item = Held<'a>>) -> Linted {
    documents.map(|held| (held.path, lint_one(held.bytes, held.revision, held.live))).collect()
}

/// Lints one document by a revision; `None` = the one that the document shows.
#[must_use]
pub fn lint(bytes: &[u8], revision: Option<Revision>) -> Lint {
    lint_one(bytes, revision, false)
}

fn lint_one(bytes: &[u8], revision: Option<Revision>, live: bool) -> Lint {
    let fallback = revision.unwrap_or(Revision::V2026_07_28);
    let value = match parse_strict(bytes, LIMITS) {
        Ok(value) => value,
        Err(error) => return Lint::refused("malformed", fallback, list::malformed(&error)),
    };
    match recognise(&value) {
        Err(other) => Lint::refused(other.as_str(), fallback, list::not_recognized(other)),
        Ok(snapshot) => judge(&snapshot, revision.unwrap_or_else(|| snapshot.shown_revision()), live),
    }
}

fn judge(snapshot: &Snapshot<'_>, revision: Revision, live: bool) -> Lint {
    let mut sink =
        Sink { revision, patterns: Patterns::default(), issues: Vec::new(), tool: None, counts: BTreeMap::new() };
    list::judge(snapshot, live || snapshot.form == Form::Envelope, &mut sink);
    let mut tools = Vec::with_capacity(snapshot.tools.len());
    let duplicates = list::duplicates(snapshot);
    for (n, tool) in snapshot.tools.iter().enumerate() {
        let before = sink.issues.len();
        sink.begin(n);
        if let Some(first) = duplicates.get(&n) {
            list::duplicate(tool, *first, &mut sink);
        }
        judge_tool(tool, &mut sink);
        tools.push(report(tool, &sink.issues[before..]));
    }
    Lint { form: snapshot.form.as_str(), revision, tools, issues: sink.issues }
}

fn judge_tool(tool: &Tool<'_>, sink: &mut Sink) {
    members::judge(tool, sink);
    if !tool.value().is_object() {
        return;
    }
    schema::judge(tool, sink);
    hints::judge(tool, sink);
    text::judge(tool, sink);
    claim::judge(tool, sink);
}

fn report(tool: &Tool<'_>, issues: &[Issue]) -> ToolReport {
    let of = |severity| issues.iter().filter(|i| i.severity == severity && i.reason.is_some()).count();
    let hint = |(kind, effective): (HintKind, Option<bool>)| {
        let declared = if let Declared::Is(value) = tool.hint(kind).declared { Some(value) } else { None };
        (kind.member(), HintReport { declared, effective })
    };
    ToolReport {
        name: tool.name().map(shown),
        pointer: tool.pointer().to_owned(),
        verdict: if of(Severity::Error) > 0 { Outcome::Fail } else { Outcome::Pass },
        warnings: of(Severity::Warning),
        hints: tool.effective().map(hint).into_iter().collect(),
    }
}

/// A text of a stranger as a report may show it: short, and with everything invisible made visible.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 80;
    let visible = |c: char| -> String {
        let hidden = !c.is_ascii() && ostiary_protocol::hidden::find(c.encode_utf8(&mut [0; 4])).is_some();
        if c.is_control() || hidden { c.escape_unicode().to_string() } else { c.to_string() }
    };
    let mut out: String = text.chars().take(MOST).map(visible).collect();
    if text.chars().nth(MOST).is_some() {
        out.push('…');
    }
    out
}

// === impl Lint ===

impl Lint {
    fn refused(form: &'static str, revision: Revision, issue: Issue) -> Self {
        Self { form, revision, tools: Vec::new(), issues: vec![issue] }
    }

    /// Whether the document was read as a list of tools.
    #[must_use]
    pub fn is_list(&self) -> bool {
        let refused =
            |i: &Issue| matches!(i.reason, Some(ReasonCode::ToolListMalformed | ReasonCode::ToolListNotRecognized));
        !self.issues.iter().any(refused)
    }

    /// FAIL when something that counts is wrong; a list without tools shows nothing.
    #[must_use]
    pub fn verdict(&self) -> Outcome {
        match () {
            () if self.issues.iter().any(Issue::fails) => Outcome::Fail,
            () if self.tools.is_empty() => Outcome::Inconclusive,
            () => Outcome::Pass,
        }
    }
}

// === impl Issue ===

impl Issue {
    /// Whether it fails the snapshot.
    #[must_use]
    pub const fn fails(&self) -> bool {
        self.reason.is_some() && matches!(self.severity, Severity::Error)
    }
}

// === impl Sink ===

impl Sink {
    fn begin(&mut self, tool: usize) {
        self.tool = Some(tool);
        self.counts.clear();
    }

    /// Something that is wrong and counts.
    pub(super) fn fail(
        &mut self,
        (aspect, reason, detail): (Aspect, ReasonCode, &'static str),
        pointer: impl Into<String>,
        expected: impl Into<String>,
        observed: impl Into<String>,
    ) {
        self.push(Issue {
            severity: Severity::Error,
            expected: expected.into(),
            ..self.issue(aspect, Some(reason), detail, (pointer.into(), observed.into()))
        });
    }

    /// Something that is worth a look.
    pub(super) fn warn(
        &mut self,
        (aspect, reason, detail): (Aspect, ReasonCode, &'static str),
        pointer: impl Into<String>,
        expected: impl Into<String>,
        observed: impl Into<String>,
    ) {
        self.push(Issue {
            severity: Severity::Warning,
            expected: expected.into(),
            ..self.issue(aspect, Some(reason), detail, (pointer.into(), observed.into()))
        });
    }

    /// Something that is right and worth knowing.
    pub(super) fn note(
        &mut self,
        (aspect, detail): (Aspect, &'static str),
        pointer: impl Into<String>,
        observed: impl Into<String>,
    ) {
        self.push(self.issue(aspect, None, detail, (pointer.into(), observed.into())));
    }

    /// A note about what is being judged.
    fn issue(
        &self,
        aspect: Aspect,
        reason: Option<ReasonCode>,
        detail: &'static str,
        (pointer, observed): (String, String),
    ) -> Issue {
        let (severity, tool) = (Severity::Note, self.tool);
        Issue { aspect, severity, reason, detail, pointer, tool, expected: String::new(), observed }
    }

    fn push(&mut self, issue: Issue) {
        let count = self.counts.entry(issue.aspect).or_default();
        *count += 1;
        let same = |i: &&Issue| i.tool == issue.tool && i.aspect == issue.aspect;
        let failed = || self.issues.iter().rev().filter(same).any(Issue::fails);
        // the bound must not hide that something fails at all
        if *count <= MOST_EACH || (issue.fails() && !failed()) {
            self.issues.push(issue);
        }
    }
}

#[cfg(test)]
mod tests;
