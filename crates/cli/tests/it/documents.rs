//! Every command that the documents, templates and hints name is one that this program takes: each is parsed, none is
//! run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{Parser as _, error::ErrorKind};

/// A command as written, with its place.
struct Written {
    place: String,
    /// A line of its own, to be typed as it is; else a mention within a sentence.
    whole: bool,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below a folder with one of these endings.
fn files(folder: &Path, endings: &[&str], out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            files(&entry, endings, out);
        } else if endings.iter().any(|ending| entry.to_string_lossy().ends_with(ending)) {
            out.push(entry);
        }
    }
}

/// The lines of a text that are commands, with their continuations, and the commands in code spans.
fn written(place: &str, text: &str) -> Vec<Written> {
    let pieces: Vec<&str> = text.split("\\\n").collect();
    let joined = pieces.iter().map(|piece| piece.trim_start_matches(' ')).collect::<Vec<_>>().join("");
    let mut out = Vec::new();
    for line in joined.lines() {
        let command = line.trim_start().trim_start_matches("$ ");
        if command.starts_with("ostiary ") && !line.contains('`') {
            // several on one line are set apart by many spaces
            let parts = command.strip_prefix("ostiary ").into_iter().flat_map(|rest| rest.split("  ostiary "));
            let whole = |part| Written { place: place.to_owned(), whole: true, text: format!("ostiary {part}") };
            out.extend(parts.map(whole));
        }
        let spans = line.split('`').skip(1).step_by(2).filter(|span| span.starts_with("ostiary "));
        out.extend(spans.map(|span| Written { place: place.to_owned(), whole: false, text: span.to_owned() }));
    }
    out
}

/// Words as a shell makes them, as far as documents use it; the brackets of a synopsis are dropped.
fn words(text: &str) -> Vec<String> {
    let (mut out, mut word, mut quote, mut any) = (Vec::new(), String::new(), None, false);
    let mut depth = 0;
    for c in text.chars() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => (quote, any) = (Some(c), true),
            (None, '#') if word.is_empty() && depth == 0 => break,
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, '[' | ']') => {}
            (None, ' ') if depth == 0 => {
                if any || !word.is_empty() {
                    out.push(std::mem::take(&mut word));
                }
                any = false;
            }
            (None, c) => word.push(c),
        }
    }
    if any || !word.is_empty() {
        out.push(word);
    }
    out
}

/// Stands in for what a reader puts in place of `…`, `FILE` or `{agent}`, by the option before it.
fn filled(words: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in words {
        let before = out.last().map(String::as_str).unwrap_or_default();
        let open = word == "…" || word.starts_with('{') || word.starts_with('$');
        let stands_in = match before {
            "--agent" if open => "acme/planner",
            "--version" if open => "1.0.0",
            "--gate" | "--to" | "--edge" if open => "canary",
            _ if word == "…" => continue,
            _ if open => "anything",
            // the first of several that a synopsis offers
            _ if word.contains('|') => word.split('|').next().unwrap(),
            _ => word.trim_end_matches('…'),
        };
        out.push(stands_in.to_owned());
    }
    out
}

/// Why a command is none; whether it may be left unfinished depends on how it is written.
fn problem(command: &Written) -> Option<String> {
    let words = words(&command.text);
    let filled = filled(&words);
    let error = ostiary_cli::Cli::try_parse_from(&filled).err()?;
    // a sentence may name an option without saying what follows it, nor what else the command wants
    let named = !command.whole && words.last().is_some_and(|word| word.starts_with("--"));
    let bare = !command.whole && !words.iter().any(|w| w.starts_with("--"));
    let told = named || bare || words.iter().any(|word| word == "…");
    let placeholder = named || words.iter().any(|word| word.contains("SECONDS") || word.contains('|'));
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        ErrorKind::MissingRequiredArgument | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if told => None,
        ErrorKind::ValueValidation | ErrorKind::InvalidValue if placeholder => None,
        _ => Some(format!("{}: `{}`: {error}", command.place, command.text)),
    }
}

#[test]
fn every_command_in_the_documents_is_one() {
    let root = root();
    let mut paths = vec![root.join("README.md"), root.join("CONTRIBUTING.md"), root.join("ARCHITECTURE.md")];
    files(&root.join("docs"), &[".md"], &mut paths);
    files(&root.join("deploy"), &[".md", ".yml", ".yaml", ".sh", ".sample"], &mut paths);
    files(&root.join("crates/cli/src"), &[".rs"], &mut paths);
    files(&root.join("crates/server/src"), &[".rs"], &mut paths);
    files(&root.join("crates/contract/src"), &[".rs"], &mut paths);
    let mut all = Vec::new();
    for path in &paths {
        let place = path.strip_prefix(&root).unwrap().display().to_string();
        let commands = written(&place, &fs::read_to_string(path).unwrap());
        // in code a line is a string's or a comment's, and only what is marked as code is a command
        all.extend(commands.into_iter().filter(|c| !c.whole || !place.ends_with(".rs")));
    }
    assert!(all.len() > 60, "{} commands are found", all.len());
    assert!(all.iter().filter(|c| c.whole).count() > 25, "and the lines to type are among them");
    let wrong: Vec<String> = all.iter().filter_map(problem).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_no_command_is_found() {
    let problem = |whole, text: &str| problem(&Written { place: "x".to_owned(), whole, text: text.to_owned() });
    for (whole, wrong) in [
        (true, "ostiary verison list"),
        (true, "ostiary version verify --agent a/b --version 1.0.0 --gate admission"),
        (false, "ostiary approve --edge admission"),
        (false, "ostiary check --no-such-option"),
        (true, "ostiary card lint"),
    ] {
        assert!(problem(whole, wrong).is_some(), "{wrong}");
    }
    for (whole, right) in [
        (true, "ostiary card lint FILE|URL… [--dev]   # a comment"),
        (true, "ostiary version release …"),
        (false, "ostiary verify"),
    ] {
        assert_eq!(problem(whole, right), None, "{right}");
    }
}
