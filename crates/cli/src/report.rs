//! Reports, in every format: for people here, for other readers by `verify::output`. The exit code is the same in all.

mod coverage;

use ostiary_contract::Bundle;
use ostiary_record::{FindingLine, Outcome, Report, RunEvent, Severity};
use ostiary_verify::output::{self, Broken, Documents, Subject};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    console::{Console, Format, coloured, visible},
    error::CliError,
    exit::Exit,
};

/// A report, with what it is about.
#[derive(Debug, Serialize)]
pub struct Judged {
    /// What else the JSON says: which card, of which format.
    #[serde(flatten)]
    about: Map<String, Value>,
    /// What was verified, in one word.
    #[serde(skip)]
    name: String,
    /// A first line for people.
    #[serde(skip)]
    head: Option<String>,
    /// Where the documents are that it names.
    #[serde(skip)]
    documents: Documents,
    /// Whether people see all of what was covered, and not its totals alone.
    #[serde(skip)]
    in_full: bool,
    #[serde(flatten)]
    report: Report,
}

/// What became of one of several documents.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Tried {
    /// It was judged.
    Judged(Box<Judged>),
    /// It could not be.
    Broken(Unjudged),
}

/// A document that could not be read or judged.
#[derive(Debug)]
pub struct Unjudged {
    field: &'static str,
    name: String,
    error: CliError,
}

/// An event with what the report is about, for several reports in one stream.
#[derive(Serialize)]
struct About<'a> {
    #[serde(flatten)]
    about: &'a Map<String, Value>,
    #[serde(flatten)]
    event: RunEvent,
}

// === impl Judged ===

impl Judged {
    /// A report on what `name` names.
    #[must_use]
    pub fn new(name: impl Into<String>, report: Report) -> Self {
        Self {
            about: Map::new(),
            name: name.into(),
            head: None,
            documents: Documents::default(),
            in_full: false,
            report,
        }
    }

    /// With a field of its own in JSON.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.about.insert(field.to_owned(), value.into());
        self
    }

    /// With a first line for people.
    #[must_use]
    pub fn headed(mut self, head: impl Into<String>) -> Self {
        self.head = Some(head.into());
        self
    }

    /// With the places of its documents.
    #[must_use]
    pub fn documents(mut self, documents: Documents) -> Self {
        self.documents = documents;
        self
    }

    /// With everything that was covered and what was not, for people.
    #[must_use]
    pub const fn in_full(mut self, yes: bool) -> Self {
        self.in_full = yes;
        self
    }

    /// Under the name that its document has for the reader, in place of the one that checks give it.
    #[must_use]
    pub fn renamed(mut self, document: &str, name: &str) -> Self {
        for line in &mut self.report.findings {
            let file = &mut line.finding.place.file;
            if file.as_deref() == Some(document) {
                *file = Some(name.to_owned());
            }
        }
        self
    }
}

// === impl Tried ===

impl Tried {
    /// What became of the document `name`, which JSON shows as `field`.
    #[must_use]
    pub fn of(field: &'static str, name: &str, tried: Result<Judged, CliError>) -> Self {
        match tried {
            Ok(judged) => Self::Judged(Box::new(judged)),
            Err(error) => Self::Broken(Unjudged { field, name: name.to_owned(), error }),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Judged(one) => one.report.verdict.into(),
            Self::Broken(one) => one.error.exit(),
        }
    }

    fn print(&self, console: &Console) {
        match self {
            Self::Judged(one) => print(console, one),
            Self::Broken(one) => console.line(format!("{}  could not run", one.name)),
        }
    }

    fn stream(&self, console: &Console) {
        match self {
            Self::Judged(one) => events(console, one),
            Self::Broken(one) => console.document(one, false),
        }
    }
}

impl Serialize for Unjudged {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut said = self.error.to_json();
        said[self.field] = self.name.as_str().into();
        said.serialize(to)
    }
}

/// The files of a bundle that lies in `folder`; findings that name none are shown at its contract.
#[must_use]
pub fn documents_of(bundle: &Bundle, folder: &std::path::Path) -> Documents {
    let path = |file: &str| folder.join(file).display().to_string();
    let home = Documents::at_home(path("contract.yaml"));
    bundle.files.keys().fold(home, |documents, file| documents.with(file.as_str(), path(file)))
}

/// Prints one report, and says how the command ends.
pub fn show(console: Console, one: Judged) -> Exit {
    print_all(console, &[Tried::Judged(Box::new(one))])
}

/// Prints what became of each document, and says how the command ends: with the worst, where FAIL is worse than what
/// could not run, and that worse than INCONCLUSIVE.
///
/// # Errors
/// When there was one document alone, and it could not be judged.
pub fn show_each(console: Console, mut all: Vec<Tried>) -> Result<Exit, CliError> {
    match all.pop() {
        Some(Tried::Broken(broken)) if all.is_empty() => Err(broken.error),
        last => {
            all.extend(last);
            Ok(print_all(console, &all))
        }
    }
}

fn print_all(console: Console, all: &[Tried]) -> Exit {
    let mut subjects = Vec::new();
    let mut whys = Vec::new();
    for one in all {
        match one {
            Tried::Judged(one) => {
                subjects.push(Subject { name: &one.name, documents: &one.documents, report: &one.report });
            }
            Tried::Broken(one) => whys.push((one.name.as_str(), one.error.to_string())),
        }
    }
    let broken: Vec<Broken<'_>> = whys.iter().map(|(name, why)| Broken { name, why }).collect();
    match console.format() {
        Format::Human => all.iter().for_each(|one| one.print(&console)),
        Format::Json => match all {
            [one] => console.document(one, true),
            many => console.document(&many, true),
        },
        Format::Jsonl => all.iter().for_each(|one| one.stream(&console)),
        Format::Junit => console.text(&output::junit(&subjects, &broken)),
        Format::Sarif => console.document(&output::sarif(&subjects, &broken), true),
        Format::Markdown => console.text(&output::markdown(&subjects, &broken)),
    }
    // machines that read JSON have the words already
    if !matches!(console.format(), Format::Json | Format::Jsonl) {
        whys.iter().for_each(|(_, why)| console.complain(why));
    }
    worst(all)
}

fn worst(all: &[Tried]) -> Exit {
    let exits = || all.iter().map(Tried::exit);
    let order = [Exit::Failed, Exit::CouldNotRun, Exit::Inconclusive, Exit::Done];
    order.into_iter().find(|exit| exits().any(|one| one == *exit)).unwrap_or(Exit::Inconclusive)
}

/// The events of a judgement that drove nothing.
fn events(console: &Console, one: &Judged) {
    let findings = one.report.findings.iter();
    let judged = findings.map(|line| RunEvent::Judged { finding: Box::new(line.finding.clone()) });
    for event in judged.chain([RunEvent::Finished { report: Box::new(one.report.clone()) }]) {
        console.document(&About { about: &one.about, event }, false);
    }
}

fn print(console: &Console, one: &Judged) {
    let report = &one.report;
    if let Some(head) = &one.head {
        console.line(head);
    }
    console.line(format!("{}  {}", coloured(report.verdict.as_str()), counted(report)));
    console.table(
        &["layer", "verdict", "blocks"],
        report.layers.iter().map(|(layer, outcome)| {
            let outcome = outcome.map_or("not asked for", Outcome::as_str);
            [layer.to_string(), outcome.to_owned(), format!("{} gate", layer.blocks())]
        }),
    );
    for (name, digest) in
        [("bundle", &report.bundle_digest), ("producer", &report.producer_digest), ("card", &report.card_digest)]
    {
        console.line(format!("{name:>9}  {}", digest.as_deref().unwrap_or("unknown")));
    }
    for (name, profiles) in [("passed", &report.profiles_passed), ("failed", &report.profiles_failed)] {
        let names: Vec<String> = profiles.iter().map(ToString::to_string).collect();
        console
            .line(format!("{name:>9}  {}", if names.is_empty() { "no profile".to_owned() } else { names.join(", ") }));
    }
    coverage::short(console, &report.coverage);
    for outcome in [Outcome::Fail, Outcome::Inconclusive] {
        print_findings(console, of(report, outcome));
    }
    void(console, report);
    if one.in_full {
        coverage::full(console, &report.coverage);
    } else {
        coverage::causes(console, &report.coverage);
    }
    console.line("");
    console.text(&visible(&report.statement).replace(" Not verified: ", "\n\nNot verified: "));
}

fn of(report: &Report, outcome: Outcome) -> impl Iterator<Item = &FindingLine> {
    report.findings.iter().filter(move |line| line.finding.verdict.outcome() == outcome)
}

fn counted(report: &Report) -> String {
    let counts = &report.counts;
    let mut text = format!(
        "{} passed, {} failed, {} inconclusive, {} not applicable",
        counts.pass, counts.fail, counts.inconclusive, counts.not_applicable
    );
    if counts.warnings > 0 {
        let plural = if counts.warnings == 1 { "" } else { "s" };
        text = format!("{text}, {} warning{plural}", counts.warnings);
    }
    text
}

/// What did not apply, in one line: it is no work for anybody.
fn void(console: &Console, report: &Report) {
    let mut checks: Vec<&str> = of(report, Outcome::NotApplicable).map(|line| line.finding.check.0.as_str()).collect();
    checks.sort_unstable();
    checks.dedup();
    if !checks.is_empty() {
        console.line("");
        console.line(format!("{}  {}", Outcome::NotApplicable, checks.join(", ")));
    }
}

/// Prints findings; what differs in the exchange alone, as repetitions do, is printed once.
fn print_findings<'a>(console: &Console, lines: impl Iterator<Item = &'a FindingLine>) {
    let mut blocks: Vec<(Vec<String>, usize)> = Vec::new();
    for line in lines {
        let block = block(line);
        match blocks.iter_mut().find(|(known, _)| *known == block) {
            Some((_, times)) => *times += 1,
            None => blocks.push((block, 1)),
        }
    }
    for (block, times) in blocks {
        let times = if times > 1 { format!("  (seen {times} times)") } else { String::new() };
        console.line("");
        for (n, line) in block.iter().enumerate() {
            console.line(if n == 0 { format!("{line}{times}") } else { line.clone() });
        }
    }
}

fn block(line: &FindingLine) -> Vec<String> {
    let mut line = line.clone();
    line.finding.place.exchange = None;
    let finding = &line.finding;
    let counts = match finding.severity {
        Severity::Error => "",
        Severity::Warning => " (warning)",
        Severity::Note => " (note)",
    };
    let reason = finding.verdict.reason().map_or("", |reason| reason.as_str());
    let mut head = format!("{}{counts}  {reason}  {}", coloured(finding.verdict.outcome().as_str()), finding.check);
    for of in [finding.profile.as_ref().map(ToString::to_string), finding.case.as_ref().map(ToString::to_string)] {
        head.extend(of.map(|of| format!("  {of}")));
    }
    let said = output::said(&line).into_iter().map(|(name, text)| format!("  {name:>9}  {text}"));
    std::iter::once(head).chain(said).collect()
}
