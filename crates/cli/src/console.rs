//! What is printed: JSON for machines, lines, tables and colours for people.
//!
//! Every text passes [`visible`] on its way out, whoever wrote it; only line breaks and colours of ours survive.

mod visible;

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::OnceLock,
};

use comfy_table::{Cell, Color, ContentArrangement, Table, presets};
use owo_colors::{OwoColorize as _, Stream, Style};
use serde::Serialize;

pub use visible::{visible, visible_json, visible_lines};

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Human,
    /// One JSON document.
    Json,
    /// One JSON document a line, as things happen (verifications only).
    Jsonl,
    /// JUnit XML (verifications only).
    Junit,
    /// SARIF 2.1.0 (verifications only).
    Sarif,
    /// Markdown for a pull request (verifications only).
    Markdown,
}

/// Narrowest terminal that tables are fitted into.
const ROOM: u16 = 60;

/// Standard output, in the format that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    format: Format,
}

// === impl Console ===

impl Console {
    /// Prints in `format`.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self { format }
    }

    /// The format.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Whether people read this.
    #[must_use]
    pub fn human(&self) -> bool {
        self.format == Format::Human
    }

    /// Whether progress may be drawn: for people, on a terminal.
    #[must_use]
    pub fn live(&self) -> bool {
        self.human() && io::stderr().is_terminal()
    }

    /// Prints the one document of the command: in full for machines, by `human` for people.
    pub fn result<T: Serialize>(&self, value: &T, human: impl FnOnce(&Self, &T)) {
        match self.format {
            Format::Human => human(self, value),
            Format::Jsonl => self.document(value, false),
            // only reports have other forms, and they do not come here
            Format::Json | Format::Junit | Format::Sarif | Format::Markdown => self.document(value, true),
        }
    }

    /// One line; a line break in it is shown as such.
    pub fn line(&self, text: impl AsRef<str>) {
        emit(&visible(text.as_ref()));
    }

    /// A text whose line ends are ours; texts of others in it have passed [`visible`].
    pub fn text(&self, text: &str) {
        emit(&visible_lines(text.trim_end_matches('\n')));
    }

    /// Why the command failed, on standard error; line ends are ours, as in [`Console::text`].
    pub fn complain(&self, text: &str) {
        // whoever has closed standard error reads no complaint
        let _ = writeln!(io::stderr().lock(), "{}", visible_lines(&format!("ostiary: {text}")));
    }

    /// A line for people only.
    pub fn note(&self, text: impl AsRef<str>) {
        if self.human() {
            self.line(text);
        }
    }

    /// A table; cells that hold a verdict or a state are coloured. A line break stays inside its cell.
    pub fn table<R>(&self, head: &[&str], rows: impl IntoIterator<Item = R>)
    where
        R: IntoIterator<Item = String>,
    {
        let mut table = Table::new();
        table.load_style(presets::UTF8_BORDERS_ONLY);
        // cells are only broken where there is room enough to break them well
        if table.width().is_some_and(|width| width >= ROOM) {
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        if colours() {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        table.set_header(head.iter().copied());
        for row in rows {
            table.add_row(row.into_iter().map(|text| cell(visible_lines(&text))));
        }
        emit(&table.to_string());
    }

    /// One JSON document.
    pub fn document<T: Serialize>(&self, value: &T, pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        emit(&visible_json(&text.expect("what we print is plain data with text keys")));
    }
}

/// A number of things: `1 problem`, `2 problems`.
#[must_use]
pub fn counted(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// What a word of ours means for whoever reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    Good,
    Bad,
    Careful,
}

/// A verdict, an outcome or a state in the colour of what it means.
#[must_use]
pub fn coloured(word: &str) -> String {
    let style = match tone(word) {
        Some(Tone::Good) => Style::new().green(),
        Some(Tone::Bad) => Style::new().red(),
        Some(Tone::Careful) => Style::new().yellow(),
        None => return word.to_owned(),
    };
    word.if_supports_color(Stream::Stdout, |text| text.style(style)).to_string()
}

/// All that [`coloured`] colours, as it does: the only codes that reach a terminal. Nothing where there are no colours.
fn painted() -> &'static [String] {
    static PAINTED: OnceLock<Vec<String>> = OnceLock::new();
    PAINTED.get_or_init(|| WORDS.map(coloured).into_iter().filter(|word| word.contains('\u{1b}')).collect())
}

/// The words of ours that have a [`Tone`].
const WORDS: [&str; 12] = [
    "PASS",
    "ALLOW",
    "ACTIVE",
    "ok",
    "FAIL",
    "DENY",
    "REJECTED",
    "QUARANTINED",
    "not ok",
    "INCONCLUSIVE",
    "CANARY",
    "DEPRECATED",
];

fn tone(word: &str) -> Option<Tone> {
    match word {
        "PASS" | "ALLOW" | "ACTIVE" | "ok" => Some(Tone::Good),
        "FAIL" | "DENY" | "REJECTED" | "QUARANTINED" | "not ok" => Some(Tone::Bad),
        "INCONCLUSIVE" | "CANARY" | "DEPRECATED" => Some(Tone::Careful),
        _ => None,
    }
}

fn cell(text: String) -> Cell {
    let colour = match tone(&text) {
        Some(Tone::Good) => Color::Green,
        Some(Tone::Bad) => Color::Red,
        Some(Tone::Careful) => Color::Yellow,
        None => return Cell::new(text),
    };
    Cell::new(text).fg(colour)
}

/// Whether standard output takes colours: a terminal, and nobody has set `NO_COLOR`.
fn colours() -> bool {
    let probe = "x".if_supports_color(Stream::Stdout, |text| text.red()).to_string();
    probe != "x"
}

fn emit(text: &str) {
    // a reader that has gone away wants no more, and no complaint either
    let _ = writeln!(io::stdout().lock(), "{text}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_word_with_a_tone_may_be_coloured() {
        assert!(super::WORDS.iter().all(|word| super::tone(word).is_some()));
    }
}
