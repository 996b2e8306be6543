//! Every target once: honest agents pass over each of their bindings, the others are caught, each broken promise is
//! explained on the page, and the page's table is what the runs say (T-01, I-03, C-01, E-01).

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use anyhow::{Context as _, Result};
use ostiary_tests::{
    model::failures,
    table::{Table, codes},
    target::root,
    world::{
        World,
        pushing::{Place, Pushing},
    },
};
use serde_json::Value;

/// An agent, the section of the page that explains what is found in it, and what a run has to come to.
struct Target {
    name: &'static str,
    section: &'static str,
    verdict: &'static str,
    start: fn() -> Result<Run>,
}

/// A running agent, to be verified: exit code and report.
type Run = Box<dyn Fn() -> Result<(i32, Value)> + Send + Sync>;

const fn target(
    name: &'static str,
    section: &'static str,
    verdict: &'static str,
    start: fn() -> Result<Run>,
) -> Target {
    Target { name, section, verdict, start }
}

fn run(world: World) -> Run {
    Box::new(move || world.verify(world.address(), &[]))
}

fn pushing(agent: Pushing) -> Run {
    Box::new(move || agent.verify(Place::default(), &[]))
}

const PASS: &str = "PASS";
const FAIL: &str = "FAIL";
/// Nothing is broken, but where its notifications go cannot be seen: neither SDK lets its user name a proxy.
const UNSEEN: &str = "INCONCLUSIVE";

const TARGETS: [Target; 13] = [
    target("Python, open", "a2a-sdk", PASS, || World::open().map(run)),
    target("Python, tokens", "a2a-sdk", PASS, || World::bindings(&[]).map(run)),
    target("Python, its gRPC server alone", "a2a-sdk", FAIL, || World::bindings(&["--any-grpc-version"]).map(run)),
    target("JavaScript", "@a2a-js/sdk", PASS, || World::javascript_bindings().map(run)),
    target("JavaScript, mended, pushing", "@a2a-js/sdk", UNSEEN, || Pushing::javascript().map(pushing)),
    target("Rust, mended", "a2a-server-lf", PASS, || World::rust(&[]).map(run)),
    target("Rust, as it comes", "a2a-server-lf", FAIL, || World::rust(&["--unmended"]).map(run)),
    target("Rust, mended, pushing", "a2a-server-lf", UNSEEN, || Pushing::rust().map(pushing)),
    target("`fasta2a`", "fasta2a", FAIL, || World::fasta2a().map(run)),
    target("messages only", "a2a-sdk", PASS, || World::messages().map(run)),
    target("slow", "a2a-sdk", PASS, || World::slow().map(run)),
    target("narrow", "a2a-sdk", PASS, || World::narrow().map(run)),
    target("one tenant's", "a2a-sdk", PASS, || World::tenant().map(run)),
];

/// Runs at once: the machines that this runs on have two cores, and some promises are about time.
const AT_ONCE: usize = 2;

const BEGIN: &str = "<!-- the table begins -->\n";
const END: &str = "<!-- the table ends -->";

#[test]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
#[expect(clippy::disallowed_methods, reason = "BLESS is how a person asks a test to write its page")]
fn the_table_of_targets_is_what_runs_say() -> Result<()> {
    let reports = runs()?;
    let path = root().join("docs/targets.md");
    let page = fs::read_to_string(&path).context("failed to read the page")?;
    let mut table = Table::default();
    let mut wrong = Vec::new();
    for (target, report) in TARGETS.iter().zip(&reports) {
        table.add(target.name, report);
        wrong.extend(unexpected(target, report));
        wrong.extend(unexplained(target, &page, report));
    }
    let (before, rest) = page.split_once(BEGIN).context("the page has no table")?;
    let (_, after) = rest.split_once(END).context("the page's table does not end")?;
    let now = format!("{before}{BEGIN}\n{}\n{END}{after}", table.markdown());
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &now).context("failed to write the page")?;
    } else if told_apart_from_time(&now) != told_apart_from_time(&page) {
        wrong.push(format!(
            "the page's table is not what the runs say (BLESS=1 writes it):\n{}",
            differing(&page, &now)
        ));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// One run of each: all agents come up together, and are verified a few at a time.
fn runs() -> Result<Vec<Value>> {
    let joined =
        |thread: thread::ScopedJoinHandle<'_, Result<_>>| thread.join().expect("it tells errors, and panics never");
    let agents: Vec<Run> = thread::scope(|scope| {
        let starts: Vec<_> = TARGETS.iter().map(|target| scope.spawn(target.start)).collect();
        starts.into_iter().map(joined).collect::<Result<_>>()
    })?;
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        while let Some((n, verify)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, agents.get(n)?)))
        {
            let run = verify().with_context(|| format!("failed to verify {}", TARGETS[n].name))?;
            done.push((n, run));
        }
        Ok::<_, anyhow::Error>(done)
    };
    let mut runs = thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(some)).collect();
        let done: Result<Vec<_>> =
            threads.into_iter().map(|t| t.join().expect("it tells errors, and panics never")).collect();
        done
    })?
    .concat();
    runs.sort_by_key(|(n, _)| *n);
    Ok(runs.into_iter().map(|(_, (_, report))| report).collect())
}

/// Says when a run comes to something else than it has to.
fn unexpected(target: &Target, report: &Value) -> Option<String> {
    let (verdict, failures) = (report["verdict"].as_str().unwrap_or_default(), failures(report));
    if verdict == target.verdict && failures.is_empty() == (verdict != FAIL) {
        return None;
    }
    let open: Vec<String> = told(report, "INCONCLUSIVE");
    Some(format!("{}: {verdict}, {failures:?}, open: {open:#?}", target.name))
}

/// Each finding of that verdict: check, profile and reason.
fn told(report: &Value, verdict: &str) -> Vec<String> {
    let findings = report["findings"].as_array().into_iter().flatten().filter(|f| f["verdict"] == verdict);
    findings.map(|f| format!("{} {} {}: {}", f["check"], f["profile"], f["reason_code"], f["message"])).collect()
}

/// The codes that the target's section does not explain; those of plain http are explained for all of them.
fn unexplained(target: &Target, page: &str, report: &Value) -> Option<String> {
    let sections: String = page.split("\n## ").filter(|section| section.starts_with(target.section)).collect();
    let explained = |code: &String| code.starts_with("INTERFACE_URL_") || sections.contains(&format!("`{code}`"));
    let missing: Vec<String> = codes(report).into_iter().filter(|code| !explained(code)).collect();
    let found = told(report, "FAIL");
    (!missing.is_empty()).then(|| format!("{}: not explained: {missing:?} of {found:#?}", target.name))
}

/// On a busy machine a task may end before it can be watched: then a promise about time is not told, which is no difference
/// here. Where it counts, the verdict says so.
fn told_apart_from_time(page: &str) -> String {
    page.replace("| open ", "| pass ")
}

fn differing(page: &str, now: &str) -> String {
    let lines = now.lines().filter(|line| !page.lines().any(|known| known == *line));
    lines.collect::<Vec<_>>().join("\n")
}
