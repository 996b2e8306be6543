//! Cards and tool snapshots judged alone, as `ostiary card lint` and `ostiary mcp lint` do; digests of a card against the
//! plain SHA-256 of the same bytes.

use std::{hint::black_box, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use jiff::Timestamp;
use ostiary_canon::Digest;
use ostiary_protocol::a2a::digest::KnownDigests;
use ostiary_record::{MonoNanos, Monotonic, Outcome, Report as Verdicts};
use ostiary_verify::{CardLint, JudgeOptions, mcp::Alone};
use serde_json::{Value, json};

use crate::{
    cli::Plan,
    report::{Goal, Report},
    stats::median,
    stopwatch::Stopwatch,
};

/// How many of each.
const CARDS: usize = 1_000;
const TOOLS: usize = 10_000;

/// Most seconds for all of them, judged to the end.
const CARDS_SECONDS: f64 = 1.0;
const TOOLS_SECONDS: f64 = 2.0;

/// A card of this size is ten times as large as the usual one, and twice the largest seen.
const CARD_BYTES: usize = 20 << 10;

/// Most times the plain SHA-256 of the bytes: for a card never seen before, and for one that was.
const MISS: f64 = 40.0;
const HIT: f64 = 2.0;

/// Digests in one measurement; enough that the clock does not matter.
const DIGESTS: usize = 400;

/// Runs the benchmark.
pub fn run(plan: &Plan) -> Result<Report> {
    let rounds = if plan.quick { 1 } else { plan.rounds };
    let (cards, tools) = if plan.quick { (20, 100) } else { (CARDS, TOOLS) };
    let cards: Vec<Bytes> = (0..cards).map(|n| Bytes::from(card(n, 2 << 10).to_string())).collect();
    let tools = snapshot(tools);
    let mut measured = Measured::default();
    for _ in 0..rounds {
        measured.cards.push(judge_cards(&cards)?);
        measured.tools.push(judge_tools(&tools)?);
        digests(&mut measured)?;
    }
    Ok(report(measured, plan.quick))
}

#[derive(Default)]
struct Measured {
    cards: Vec<f64>,
    tools: Vec<f64>,
    miss: Vec<f64>,
    hit: Vec<f64>,
}

fn report(measured: Measured, quick: bool) -> Report {
    // a quick run shows that it works and judges no speed
    let goal = |name: String, values, limit| {
        let limit = if quick { f64::INFINITY } else { limit };
        Goal { name, value: median(values), limit }
    };
    let goals = vec![
        goal(format!("seconds for {CARDS} cards"), measured.cards, CARDS_SECONDS),
        goal(format!("seconds for {TOOLS} tools"), measured.tools, TOOLS_SECONDS),
        goal("digest of a 20 KB card, in SHA-256 of its bytes, miss".to_owned(), measured.miss, MISS),
        goal("digest of a 20 KB card, in SHA-256 of its bytes, hit".to_owned(), measured.hit, HIT),
    ];
    Report { bench: "lint", rows: vec![], goals, costs: vec![] }
}

/// Seconds to judge all cards, each as a verification of its own.
fn judge_cards(cards: &[Bytes]) -> Result<f64> {
    let watch = Stopwatch::start();
    let lint = CardLint::new(JudgeOptions::default(), false, Arc::new(Still))?;
    for card in cards {
        good(&lint.report(card.clone(), None, Timestamp::UNIX_EPOCH))?;
    }
    Ok(watch.elapsed().as_secs_f64())
}

/// Seconds to judge all tools of one snapshot.
fn judge_tools(snapshot: &Bytes) -> Result<f64> {
    let watch = Stopwatch::start();
    let alone = Alone::new(None, Arc::new(Still))?;
    let report = alone.report(snapshot.clone(), Timestamp::UNIX_EPOCH);
    let seconds = watch.elapsed().as_secs_f64();
    good(&report)?;
    Ok(seconds)
}

/// A benchmark of a judge that refuses its input would measure nothing.
fn good(report: &Verdicts) -> Result<()> {
    ensure!(report.verdict == Outcome::Pass, "what is measured must pass: {}", report.statement);
    Ok(())
}

fn digests(measured: &mut Measured) -> Result<()> {
    let cards: Vec<Vec<u8>> = (0..DIGESTS).map(|n| card(n, CARD_BYTES).to_string().into_bytes()).collect();
    let plain = seconds(&cards, |bytes| Ok(Digest::of(bytes)))?;
    let mut known = KnownDigests::of_at_least(DIGESTS);
    let miss = seconds(&cards, |bytes| known.card_digest(bytes).context("a card without digest"))?;
    let hit = seconds(&cards, |bytes| known.card_digest(bytes).context("a card without digest"))?;
    measured.miss.push(miss / plain);
    measured.hit.push(hit / plain);
    Ok(())
}

fn seconds(cards: &[Vec<u8>], mut digest: impl FnMut(&[u8]) -> Result<Digest>) -> Result<f64> {
    let watch = Stopwatch::start();
    for card in cards {
        black_box(digest(black_box(card))?);
    }
    Ok(watch.elapsed().as_secs_f64())
}

/// A good card of about `bytes`, by its skills.
fn card(n: usize, bytes: usize) -> Value {
    let mut card = json!({
        "name": format!("Agent {n}"), "description": "Drafts plans of work.", "version": "1.0.0",
        "supportedInterfaces": [
            {"url": format!("https://agent{n}.example.test/rpc"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": true},
        "defaultInputModes": ["application/json"], "defaultOutputModes": ["application/json"],
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "skills": []
    });
    let mut skills = Vec::new();
    let mut size = card.to_string().len();
    while skills.is_empty() || size < bytes {
        let skill = json!({
            "id": format!("skill-{}", skills.len()), "name": "Plan work", "tags": ["plan", "draft"],
            "description": "Drafts a plan for a request, item by item, and says what it could not place.",
            "examples": ["Plan the move of the office to the new building until June."]
        });
        size += skill.to_string().len() + 1;
        skills.push(skill);
    }
    card["skills"] = Value::from(skills);
    card
}

/// A snapshot of good tools as large as nine of ten in the field, each with its own schemas.
fn snapshot(tools: usize) -> Bytes {
    let tool = |n: usize| {
        json!({
            "name": format!("notes_search_{n}"), "title": "Search notes",
            "description": "Finds notes by words, author and date, newest first. Gives at most fifty notes a page.",
            "inputSchema": {
                "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                "properties": {
                    "query": {"type": "string", "minLength": 1, "description": "Words that must all be in the note"},
                    "author": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
                    "since": {"type": "string", "format": "date", "description": "The first day"},
                    "order": {"enum": ["newest", "oldest"], "default": "newest"},
                    "page": {"type": "integer", "minimum": 1, "maximum": 1000},
                    "tags": {"type": "array", "items": {"$ref": "#/definitions/tag"}, "maxItems": 20}
                },
                "definitions": {"tag": {"type": "string", "pattern": "^[a-z]+$"}},
                "required": ["query"], "additionalProperties": false
            },
            "outputSchema": {"type": "object", "properties": {"notes": {"type": "array", "items": {"type": "object"}}}},
            "annotations": {"readOnlyHint": true, "openWorldHint": false}
        })
    };
    let tools: Vec<Value> = (0..tools).map(tool).collect();
    Bytes::from(json!({"tools": tools}).to_string())
}

/// A clock that stands still: nothing here waits.
struct Still;

impl Monotonic for Still {
    fn now(&self) -> MonoNanos {
        MonoNanos(0)
    }
}
