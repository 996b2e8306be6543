//! The little XML that JUnit needs. What agents say may hold anything, and XML 1.0 cannot hold everything.

use std::fmt::Write as _;

/// A document that is being written.
pub(super) struct Xml {
    text: String,
    open: Vec<&'static str>,
}

/// Attributes, in order.
pub(super) type Attributes<'a> = &'a [(&'a str, String)];

// === impl Xml ===

impl Xml {
    /// An empty document.
    pub(super) fn new() -> Self {
        Self { text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(), open: Vec::new() }
    }

    /// Opens an element.
    pub(super) fn open(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.tag(name, attributes, ">\n");
        self.open.push(name);
    }

    /// Closes the element that was opened last.
    pub(super) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.indent();
            let _ = writeln!(self.text, "</{name}>");
        }
    }

    /// An element that holds nothing.
    pub(super) fn empty(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.tag(name, attributes, "/>\n");
    }

    /// An element that holds text.
    pub(super) fn text(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.tag(name, attributes, ">");
        escape(&mut self.text, text, false);
        let _ = writeln!(self.text, "</{name}>");
    }

    /// The document; whatever is open is closed.
    pub(super) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }

    fn tag(&mut self, name: &str, attributes: Attributes<'_>, end: &str) {
        self.indent();
        let _ = write!(self.text, "<{name}");
        for (attribute, value) in attributes {
            let _ = write!(self.text, " {attribute}=\"");
            escape(&mut self.text, value, true);
            self.text.push('"');
        }
        self.text.push_str(end);
    }

    fn indent(&mut self) {
        self.text.extend(std::iter::repeat_n("  ", self.open.len()));
    }
}

/// Appends `text` so that a reader gets it back. Characters that XML 1.0 §2.2 cannot hold, not even as references, are
/// written as the escape that Rust and JSON readers know: `\u{1}`.
fn escape(out: &mut String, text: &str, attribute: bool) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if attribute => out.push_str("&quot;"),
            // readers turn these into spaces in attributes, and a bare return into a line feed everywhere
            '\n' | '\t' if attribute => _ = write!(out, "&#{};", u32::from(c)),
            '\r' => out.push_str("&#13;"),
            '\n' | '\t' => out.push(c),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => _ = write!(out, "{}", c.escape_unicode()),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_said_is_well_formed() {
        let mut xml = Xml::new();
        xml.open("a", &[("b", "<\"&'>\n\t\r\u{0}\u{1b}\u{ffff}".to_owned())]);
        xml.text("c", &[], "]]> <x/> & \u{8}\u{fffe}\r\nü🦀");
        xml.empty("d", &[]);
        assert_eq!(
            xml.finish(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <a b=\"&lt;&quot;&amp;'&gt;&#10;&#9;&#13;\\u{0}\\u{1b}\\u{ffff}\">\n\
             \u{20} <c>]]&gt; &lt;x/&gt; &amp; \\u{8}\\u{fffe}&#13;\nü🦀</c>\n\
             \u{20} <d/>\n</a>\n"
        );
    }
}
