//! From parser events to the tree, with every bound enforced while building.

use std::collections::{BTreeMap, BTreeSet};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};

use super::{
    Limits,
    node::{Entry, Node, Value},
    scalar,
};
use crate::problem::{Code, Position, Problem, push_bounded};

/// Reads one file.
///
/// # Errors
/// The problems of the text: all duplicate keys, tags and merge keys, and the first thing that stops the reading.
pub fn read(file: &str, bytes: &[u8], limits: Limits) -> Result<Node, Vec<Problem>> {
    if bytes.len() > limits.bytes {
        let message = format!("the file has {} bytes, more than the {} allowed", bytes.len(), limits.bytes);
        return Err(vec![Problem::new(file, Code::FileTooLarge, message)]);
    }
    let text = utf8(file, bytes).map_err(|p| vec![p])?;
    let mut builder = Builder {
        file,
        limits,
        open: Vec::new(),
        anchors: BTreeMap::new(),
        nodes: 0,
        bytes: 0,
        alias_nodes: 0,
        alias_bytes: 0,
        root: None,
        problems: Vec::new(),
    };
    if let Err(stop) = builder.run(text) {
        builder.problems.push(stop);
    }
    match builder.root.take() {
        Some(root) if builder.problems.is_empty() => Ok(root),
        _ if builder.problems.is_empty() => Err(vec![
            Problem::new(file, Code::EmptyDocument, "the file is empty")
                .hint("write the file's root key, or delete it"),
        ]),
        _ => Err(builder.problems),
    }
}

/// The bytes as text without a byte-order mark; else the place of the first byte that is no UTF-8.
pub(crate) fn utf8<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, Problem> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let before = &bytes[..error.valid_up_to()];
            let line = before.iter().filter(|b| **b == b'\n').count() + 1;
            let problem = Problem::new(file, Code::NotUtf8, "the file is not UTF-8").hint("save the file as UTF-8");
            Err(problem.on_line(u32::try_from(line).ok()))
        }
    }
}

/// A subtree that an alias may repeat.
struct Anchored {
    node: Node,
    nodes: usize,
    bytes: usize,
    depth: u32,
}

/// A collection whose end has not come yet.
struct Open {
    at: Position,
    anchor: usize,
    first_node: usize,
    first_byte: usize,
    deepest: u32,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, seen: BTreeSet<String>, key: Option<(String, Position)> },
}

struct Builder<'f> {
    file: &'f str,
    limits: Limits,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Anchored>,
    nodes: usize,
    bytes: usize,
    alias_nodes: usize,
    alias_bytes: usize,
    root: Option<Node>,
    problems: Vec<Problem>,
}

fn position(marker: &Marker) -> Position {
    let cap = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Position { line: cap(marker.line()), column: cap(marker.col()).saturating_add(1) }
}

// === impl Builder ===

impl Builder<'_> {
    fn problem(&self, code: Code, at: Position, message: impl Into<String>) -> Problem {
        Problem::new(self.file, code, message).at(at)
    }

    fn note(&mut self, problem: Problem) {
        push_bounded(&mut self.problems, problem);
    }

    fn run(&mut self, text: &str) -> Result<(), Problem> {
        let mut parser: Parser<'_, StrInput<'_>> = Parser::new_from_str(text);
        while let Some(next) = parser.next_event() {
            let (event, span) = next.map_err(|error| {
                self.problem(
                    Code::YamlSyntax,
                    position(error.marker()),
                    format!("the text is no YAML: {}", error.info()),
                )
            })?;
            self.event(event, span)?;
        }
        Ok(())
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        let at = position(&span.start);
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) if self.root.is_some() => {
                let problem = self.problem(Code::SeveralDocuments, at, "a second document begins here");
                Err(problem.hint("one file holds one document; remove the `---`"))
            }
            Event::DocumentStart(_) => Ok(()),
            Event::Alias(id) => self.alias(id, at),
            Event::Scalar(text, style, anchor, tag) => {
                self.tag(tag.is_some(), at);
                self.scalar(&text, style, anchor, at)
            }
            Event::SequenceStart(anchor, tag) => {
                self.tag(tag.is_some(), at);
                self.begin(at, anchor, Content::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.tag(tag.is_some(), at);
                self.begin(at, anchor, Content::Map { entries: Vec::new(), seen: BTreeSet::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
        }
    }

    fn tag(&mut self, tagged: bool, at: Position) {
        if tagged {
            let problem = self.problem(Code::TagRefused, at, "YAML tags are not used in contract files");
            self.note(problem.hint("remove the `!` tag; quote the value where text is meant"));
        }
    }

    fn count(&mut self, more: usize, at: Position) -> Result<(), Problem> {
        self.nodes = self.nodes.saturating_add(more);
        if self.nodes > self.limits.nodes {
            let message = format!("the file holds more than {} values", self.limits.nodes);
            return Err(self.problem(Code::TooManyNodes, at, message));
        }
        Ok(())
    }

    fn depth(&mut self, below: u32, at: Position) -> Result<(), Problem> {
        let here = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
        let deepest = here.saturating_add(below);
        if deepest > self.limits.depth {
            let message = format!("nested deeper than {} levels", self.limits.depth);
            return Err(self.problem(Code::NestingTooDeep, at, message));
        }
        for open in &mut self.open {
            open.deepest = open.deepest.max(deepest);
        }
        Ok(())
    }

    fn begin(&mut self, at: Position, anchor: usize, content: Content) -> Result<(), Problem> {
        if self.awaits_key() {
            let problem = self.problem(Code::KeyNotText, at, "a mapping key is a collection");
            return Err(problem.hint("keys are plain text"));
        }
        self.count(1, at)?;
        self.depth(1, at)?;
        let deepest = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
        self.open.push(Open {
            at,
            anchor,
            first_node: self.nodes,
            first_byte: self.bytes,
            deepest: deepest + 1,
            content,
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Problem> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.content {
            Content::List(items) => Value::List(items),
            Content::Map { entries, .. } => Value::Map(entries),
        };
        let node = Node { at: open.at, value };
        if open.anchor > 0 {
            let level = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
            let nodes = self.nodes + 1 - open.first_node;
            let depth = open.deepest.saturating_sub(level);
            let bytes = self.bytes - open.first_byte;
            self.anchors.insert(open.anchor, Anchored { node: node.clone(), nodes, bytes, depth });
        }
        self.put(node)
    }

    fn alias(&mut self, id: usize, at: Position) -> Result<(), Problem> {
        let Some(anchored) = self.anchors.get(&id) else {
            return Err(self.problem(Code::AliasUnknown, at, "the alias names no value that is finished before it"));
        };
        let (nodes, bytes, depth) = (anchored.nodes, anchored.bytes, anchored.depth);
        self.alias_nodes = self.alias_nodes.saturating_add(nodes);
        self.alias_bytes = self.alias_bytes.saturating_add(bytes);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.alias_nodes > self.limits.alias_nodes || self.alias_bytes > self.limits.alias_bytes {
            let Limits { alias_nodes, alias_bytes, .. } = self.limits;
            let message = format!("aliases expand to more than {alias_nodes} values or {alias_bytes} bytes of text");
            return Err(self.problem(Code::AliasBudget, at, message).hint("write the values out"));
        }
        self.count(nodes, at)?;
        self.depth(depth, at)?;
        let copy = self.anchors.get(&id).map(|a| Node { at, value: a.node.value.clone() });
        copy.map_or(Ok(()), |node| self.put(node))
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, anchor: usize, at: Position) -> Result<(), Problem> {
        if self.awaits_key() {
            return self.key(text, style, at);
        }
        self.count(1, at)?;
        self.bytes += text.len();
        let value = if style == ScalarStyle::Plain {
            scalar::resolve(text).map_err(|_| {
                let message = format!("`{}` is no number that JSON can carry", clip(text));
                self.problem(Code::NumberOutOfRange, at, message)
            })?
        } else {
            Value::Text(text.to_owned())
        };
        let node = Node { at, value };
        if anchor > 0 {
            self.anchors.insert(anchor, Anchored { node: node.clone(), nodes: 1, bytes: text.len(), depth: 0 });
        }
        self.put(node)
    }

    fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { content: Content::Map { key: None, .. }, .. }))
    }

    fn key(&mut self, text: &str, style: ScalarStyle, at: Position) -> Result<(), Problem> {
        self.count(1, at)?;
        self.bytes += text.len();
        if style == ScalarStyle::Plain && text == "<<" {
            let problem = self.problem(Code::MergeKeyRefused, at, "merge keys are not used in contract files");
            self.note(problem.hint("write the members out"));
        }
        let Some(Open { content: Content::Map { seen, key, .. }, .. }) = self.open.last_mut() else { return Ok(()) };
        let duplicate = !seen.insert(text.to_owned());
        *key = Some((text.to_owned(), at));
        if duplicate {
            let message = format!("the key `{}` stands twice in this mapping", clip(text));
            let problem = self.problem(Code::DuplicateKey, at, message);
            self.note(problem.hint("keep one of them"));
        }
        Ok(())
    }

    fn put(&mut self, node: Node) -> Result<(), Problem> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.content {
            Content::List(items) => items.push(node),
            Content::Map { entries, key, .. } => match key.take() {
                Some((key, at)) => entries.push(Entry { key, at, node }),
                None => {
                    let problem = Problem::new(self.file, Code::KeyNotText, "a mapping key is an alias").at(node.at);
                    return Err(problem.hint("keys are plain text"));
                }
            },
        }
        Ok(())
    }
}

/// A text short enough for a message.
pub(crate) fn clip(text: &str) -> String {
    const ENOUGH: usize = 80;
    if text.chars().count() <= ENOUGH {
        return text.to_owned();
    }
    text.chars().take(ENOUGH).chain("…".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[(Code, u32)]) {
        let found = read("f.yaml", text.as_bytes(), Limits::default());
        let problems = found.err().unwrap_or_default();
        let seen: Vec<(Code, u32)> = problems.iter().map(|p| (p.code, p.line.unwrap_or(0))).collect();
        assert_eq!(seen, expect, "{problems:?}");
    }

    #[test]
    fn positions_name_the_line_and_column_of_each_value() {
        let node = read("f.yaml", b"a:\n  b: [1, two]\n", Limits::default()).expect("plain YAML");
        let list = node.get("a").and_then(|a| a.get("b")).expect("a.b");
        assert_eq!(list.at, Position { line: 2, column: 6 });
        let Value::List(items) = &list.value else { panic!("no list") };
        assert_eq!(items[1].at, Position { line: 2, column: 10 });
    }

    #[test]
    fn every_duplicate_key_tag_and_merge_key_is_reported() {
        check(
            "a: 1\na: 2\nb: !x 3\n<<: {c: 1}\nd: {e: 1, e: 2}\n",
            &[(Code::DuplicateKey, 2), (Code::TagRefused, 3), (Code::MergeKeyRefused, 4), (Code::DuplicateKey, 5)],
        );
    }

    #[test]
    fn a_second_document_a_missing_one_and_broken_text_are_refused() {
        check("a: 1\n---\nb: 2\n", &[(Code::SeveralDocuments, 2)]);
        check("# only a comment\n", &[(Code::EmptyDocument, 0)]);
        check("a: [1\n", &[(Code::YamlSyntax, 2)]);
        check("? [a, b]\n: 1\n", &[(Code::KeyNotText, 1)]);
    }

    #[test]
    fn an_alias_bomb_is_refused_and_an_honest_alias_is_expanded() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..12 {
            let list = vec![format!("*a{}", n - 1); 9].join(", ");
            bomb += &format!("a{n}: &a{n} [{list}]\n");
        }
        check(&bomb, &[(Code::AliasBudget, 4)]);
        check("a: &a [*a]\n", &[(Code::AliasUnknown, 1)]);
        let node = read("f.yaml", b"a: &a {b: 1}\nc: *a\n", Limits::default()).expect("honest alias");
        assert_eq!(node.to_json(), serde_json::json!({"a": {"b": 1}, "c": {"b": 1}}));
    }

    #[test]
    fn aliases_of_one_long_text_are_bounded_by_its_bytes() {
        let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(20_000), vec!["*a"; 20].join(", "));
        check(&text, &[(Code::AliasBudget, 2)]);
        let nested = format!("a: &a {{k: &b [{}]}}\nb: [{}]\n", "x".repeat(20_000), vec!["*a"; 20].join(", "));
        check(&nested, &[(Code::AliasBudget, 2)]);
    }

    #[test]
    fn a_flood_of_problems_is_cut_with_a_word() {
        let text: String = (0..500).map(|_| "a: 1\n").collect();
        let problems = read("f.yaml", text.as_bytes(), Limits::default()).expect_err("duplicates");
        assert_eq!((problems.len(), problems[100].code), (101, Code::MoreProblems));
    }

    #[test]
    fn depth_counts_through_aliases() {
        let deep = format!("{}1{}", "[".repeat(39), "]".repeat(39));
        check(&format!("a: {deep}\n"), &[]);
        check(&format!("a: [{deep}]\n"), &[(Code::NestingTooDeep, 1)]);
        let limits = Limits { depth: 4, ..Limits::default() };
        let found = read("f.yaml", b"a: &a [[1]]\nb: [[*a]]\n", limits);
        assert_eq!(found.expect_err("too deep")[0].code, Code::NestingTooDeep);
    }

    #[test]
    fn bytes_that_are_no_text_name_the_line() {
        let found = read("f.yaml", b"a: 1\nb: \xff\n", Limits::default()).expect_err("not UTF-8");
        assert_eq!((found[0].code, found[0].line), (Code::NotUtf8, Some(2)));
    }
}
