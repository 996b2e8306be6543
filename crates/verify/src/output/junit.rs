//! JUnit XML, in the dialect that Jenkins, GitLab, GitHub's reporters and Azure read: one suite a layer, one case a
//! check × profile × case, at most one result element in each.
//!
//! FAIL is a failure, INCONCLUSIVE an error (a test that broke before it could tell), `NOT_APPLICABLE` is skipped.
//! Warnings are text beside a case that passed. Times are not in a report, so all are nought.

use ostiary_record::{FindingLine, Layer, Outcome, Report};

use super::{
    Broken, Subject,
    weight::{Test, Weight, code, is_empty_handed, of_layer, said, weight},
    xml::Xml,
};

/// What the layer's own case is called.
const LAYER: &str = "the layer as a whole";

/// How many of what.
#[derive(Clone, Copy, Default)]
struct Tally {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

/// How a case ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Passed,
    Skipped,
    Error,
    Failure,
}

/// Reports as one document; what could not be judged is an error in a suite of its own.
#[must_use]
pub fn junit(subjects: &[Subject<'_>], broken: &[Broken<'_>]) -> String {
    let mut all = Tally { tests: broken.len(), errors: broken.len(), ..Tally::default() };
    for subject in subjects {
        layers(subject.report).for_each(|layer| all.add(Tally::of(subject.report, layer)));
    }
    let mut xml = Xml::new();
    xml.open("testsuites", &[&[("name", "ostiary".to_owned())], &all.attributes()[..]].concat());
    for subject in subjects {
        for layer in layers(subject.report) {
            let name = if subjects.len() + broken.len() > 1 {
                format!("{}: {layer}", subject.name)
            } else {
                layer.to_string()
            };
            suite(&mut xml, subject, layer, name);
        }
    }
    broken.iter().for_each(|one| broken_suite(&mut xml, one));
    xml.finish()
}

/// The document of a command that could not run.
#[must_use]
pub fn junit_broken(message: &str) -> String {
    junit(&[], &[Broken { name: "ostiary", why: message }])
}

fn broken_suite(xml: &mut Xml, broken: &Broken<'_>) {
    let tally = Tally { tests: 1, errors: 1, ..Tally::default() }.attributes();
    xml.open("testsuite", &[&[("name", broken.name.to_owned())], &tally[..]].concat());
    xml.open("testcase", &case_attributes(broken.name, "the verification runs"));
    xml.text("error", &[("type", "COULD_NOT_RUN".to_owned()), ("message", broken.why.to_owned())], broken.why);
    xml.close();
    xml.close();
}

// === impl Tally ===

impl Tally {
    fn of(report: &Report, layer: Layer) -> Self {
        let mut tally = Self::default();
        for test in of_layer(report, layer) {
            tally.count(end(report, &test));
        }
        if is_empty_handed(report, layer) {
            tally.count(End::Error);
        }
        tally
    }

    const fn count(&mut self, end: End) {
        self.tests += 1;
        match end {
            End::Passed => {}
            End::Skipped => self.skipped += 1,
            End::Error => self.errors += 1,
            End::Failure => self.failures += 1,
        }
    }

    const fn add(&mut self, other: Self) {
        self.tests += other.tests;
        self.failures += other.failures;
        self.errors += other.errors;
        self.skipped += other.skipped;
    }

    fn attributes(self) -> [(&'static str, String); 5] {
        [
            ("tests", self.tests.to_string()),
            ("failures", self.failures.to_string()),
            ("errors", self.errors.to_string()),
            ("skipped", self.skipped.to_string()),
            ("time", "0".to_owned()),
        ]
    }
}

/// The layers that were asked for, and those in which something was found all the same.
fn layers(report: &Report) -> impl Iterator<Item = Layer> {
    let found = |layer: Layer| report.findings.iter().any(|line| line.finding.layer == layer);
    let asked = |layer: Layer| report.layers.get(&layer).copied().flatten().is_some();
    Layer::ALL.into_iter().filter(move |layer| asked(*layer) || found(*layer))
}

fn suite(xml: &mut Xml, subject: &Subject<'_>, layer: Layer, name: String) {
    let report = subject.report;
    let mut attributes = vec![("name", name)];
    attributes.extend(Tally::of(report, layer).attributes());
    // readers want no fraction and no zone; ours is UTC
    attributes.extend(report.verified_at.get(..19).map(|time| ("timestamp", time.to_owned())));
    xml.open("testsuite", &attributes);
    properties(xml, subject, layer);
    let class = format!("{}.{layer}", subject.name);
    if is_empty_handed(report, layer) {
        xml.open("testcase", &case_attributes(&class, LAYER));
        let message = "nothing in this layer could be judged, and what was not seen is not passed".to_owned();
        xml.empty("error", &[("type", "INCONCLUSIVE".to_owned()), ("message", message)]);
        xml.close();
    }
    for test in of_layer(report, layer) {
        case(xml, subject, &class, &test);
    }
    xml.close();
}

fn properties(xml: &mut Xml, subject: &Subject<'_>, layer: Layer) {
    let report = subject.report;
    let outcome = report.layers.get(&layer).copied().flatten().map_or("not asked for", Outcome::as_str);
    let known = |digest: &Option<String>| digest.clone().unwrap_or_else(|| "unknown".to_owned());
    xml.open("properties", &[]);
    for (name, value) in [
        ("layer", layer.to_string()),
        ("layer_verdict", outcome.to_owned()),
        ("verdict", report.verdict.to_string()),
        ("harness_version", report.harness_version.clone()),
        ("bundle_digest", known(&report.bundle_digest)),
        ("producer_digest", known(&report.producer_digest)),
        ("card_digest", known(&report.card_digest)),
    ] {
        xml.empty("property", &[("name", name.to_owned()), ("value", value)]);
    }
    xml.close();
}

fn case(xml: &mut Xml, subject: &Subject<'_>, class: &str, test: &Test<'_>) {
    let report = subject.report;
    let mut name = test.check.to_owned();
    if let Some(profile) = &test.profile {
        name = format!("{name} [{profile}]");
    }
    if let Some(case) = test.case {
        name = format!("{name} {case}");
    }
    let mut attributes = case_attributes(class, &name).to_vec();
    let place = |line: &&FindingLine| {
        let path = line.finding.place.file.as_ref().and_then(|file| subject.documents.path(file))?;
        Some((path.to_owned(), line.finding.place.line))
    };
    if let Some((file, line)) = test.findings.iter().find_map(place) {
        attributes.push(("file", file));
        attributes.extend(line.map(|line| ("line", line.to_string())));
    }
    match end(report, test) {
        End::Passed if !test.findings.iter().any(|line| weight(report, line) == Weight::Aside) => {
            xml.empty("testcase", &attributes);
        }
        end => {
            xml.open("testcase", &attributes);
            result(xml, report, test, end);
            xml.close();
        }
    }
}

fn result(xml: &mut Xml, report: &Report, test: &Test<'_>, end: End) {
    let (element, wanted) = match end {
        End::Passed => ("system-out", Weight::Aside),
        End::Skipped => ("skipped", Weight::Nothing),
        End::Error => ("error", Weight::Unknown),
        End::Failure => ("failure", Weight::Broken),
    };
    let shown: Vec<&FindingLine> =
        test.findings.iter().copied().filter(|line| weight(report, line) == wanted).collect();
    let Some(first) = shown.first() else { return };
    let message = match shown.len() {
        1 => first.finding.message.clone(),
        more => format!("{} (and {} more)", first.finding.message, more - 1),
    };
    let attributes = [("type", code(first).to_owned()), ("message", message)];
    let body = shown.iter().map(|line| body(line)).collect::<Vec<_>>().join("\n\n");
    match end {
        End::Passed => xml.text(element, &[], &body),
        End::Skipped => xml.empty(element, &attributes[1..]),
        End::Error | End::Failure => xml.text(element, &attributes, &body),
    }
}

fn body(line: &FindingLine) -> String {
    let mut text = format!("{} {}", line.finding.verdict.outcome(), code(line));
    for (name, said) in said(line) {
        text.push_str(&if name.is_empty() { format!("\n{said}") } else { format!("\n{name}: {said}") });
    }
    if let Some(reason) = line.finding.verdict.reason() {
        text.push_str(&format!("\nto do: {}", reason.row().remedy));
    }
    text
}

fn end(report: &Report, test: &Test<'_>) -> End {
    match test.findings.iter().map(|line| weight(report, line)).max() {
        Some(Weight::Broken) => End::Failure,
        Some(Weight::Unknown) => End::Error,
        Some(Weight::Aside) => End::Passed,
        Some(Weight::Nothing) | None => {
            let void = |line: &&FindingLine| line.finding.verdict.outcome() == Outcome::NotApplicable;
            if test.findings.iter().all(void) { End::Skipped } else { End::Passed }
        }
    }
}

fn case_attributes(class: &str, name: &str) -> [(&'static str, String); 3] {
    [("classname", class.to_owned()), ("name", name.to_owned()), ("time", "0".to_owned())]
}
