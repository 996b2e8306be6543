//! All pages of a list as one, bounded against servers that never come to an end.

use std::{collections::BTreeSet, fmt};

use serde_json::{Map, Value};

use super::Revision;

/// Most pages of one list.
pub const MOST_PAGES: usize = 1_000;
/// Most tools of one list; the largest seen in the field has 302, and the linter reads ten thousand.
pub const MOST_TOOLS: usize = 10_000;
/// Most bytes of one list, as JSON.
pub const MOST_BYTES: usize = 32 << 20;

/// A list that is being read.
#[derive(Clone, Debug)]
pub struct Listing {
    revision: Revision,
    first: Map<String, Value>,
    last_cursor: Option<Value>,
    tools: Vec<Value>,
    pages: usize,
    bytes: usize,
    seen: BTreeSet<String>,
    scope_differs: bool,
}

/// What comes after a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextPage {
    /// The page at this cursor.
    At(String),
    /// The list is whole.
    Done,
    /// The list is given up.
    Stop(ListingProblem),
}

/// Why a list is given up, or what is wrong with it as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListingProblem {
    /// A cursor came for the second time.
    CursorLoop {
        /// The page that repeats it, from 1.
        page: usize,
    },
    /// There are more pages than are read.
    TooManyPages,
    /// There are more tools than are read.
    TooManyTools,
    /// The list is larger than is read.
    TooLarge,
    /// A page has no list of tools.
    NoTools {
        /// Which page, from 1.
        page: usize,
    },
    /// `nextCursor` is neither absent nor a text nor null.
    CursorInvalid {
        /// Of which page, from 1.
        page: usize,
    },
}

// === impl Listing ===

impl Listing {
    /// An empty list.
    #[must_use]
    pub fn new(revision: Revision) -> Self {
        Self {
            revision,
            first: Map::new(),
            last_cursor: None,
            tools: Vec::new(),
            pages: 0,
            bytes: 0,
            seen: BTreeSet::new(),
            scope_differs: false,
        }
    }

    /// Takes a page, of so many bytes on the wire, and says what comes next.
    pub fn take(&mut self, page: Value, bytes: usize) -> NextPage {
        self.pages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        let Value::Object(mut members) = page else {
            return NextPage::Stop(ListingProblem::NoTools { page: self.pages });
        };
        let tools = members.remove("tools");
        let cursor = members.remove("nextCursor");
        if self.pages == 1 {
            self.first = members;
        } else {
            self.scope_differs |= self.first.get("cacheScope") != members.get("cacheScope");
        }
        self.last_cursor.clone_from(&cursor);
        let Some(Value::Array(tools)) = tools else {
            return NextPage::Stop(ListingProblem::NoTools { page: self.pages });
        };
        let room = MOST_TOOLS - self.tools.len();
        let full = tools.len() > room;
        self.tools.extend(tools.into_iter().take(room));
        if full {
            return NextPage::Stop(ListingProblem::TooManyTools);
        }
        self.after(cursor)
    }

    fn after(&mut self, cursor: Option<Value>) -> NextPage {
        let cursor = match cursor {
            None | Some(Value::Null) => return NextPage::Done,
            // before 2026-07-28 many servers mean the end by an empty cursor, and none was seen to mean a page
            Some(Value::String(text)) if text.is_empty() && !self.revision.is_stateless() => return NextPage::Done,
            Some(Value::String(text)) => text,
            Some(_) => return NextPage::Stop(ListingProblem::CursorInvalid { page: self.pages }),
        };
        if !self.seen.insert(cursor.clone()) {
            return NextPage::Stop(ListingProblem::CursorLoop { page: self.pages });
        }
        match () {
            () if self.bytes > MOST_BYTES => NextPage::Stop(ListingProblem::TooLarge),
            () if self.pages >= MOST_PAGES => NextPage::Stop(ListingProblem::TooManyPages),
            () => NextPage::At(cursor),
        }
    }

    /// How many pages were read.
    #[must_use]
    pub const fn pages(&self) -> usize {
        self.pages
    }

    /// How many tools were read.
    #[must_use]
    pub fn tools(&self) -> usize {
        self.tools.len()
    }

    /// Whether pages disagree on who may be served from a cache, which they must not (2026-07-28, "Caching").
    #[must_use]
    pub const fn scope_differs(&self) -> bool {
        self.scope_differs
    }

    /// All pages as one result: the members of the first page, the tools of all in their order. A cursor stands there only
    /// where the list is not whole, or where the last page ends it with another sign than none.
    #[must_use]
    pub fn merged(self) -> Value {
        let mut out = Map::new();
        out.insert("tools".to_owned(), Value::Array(self.tools));
        out.extend(self.first);
        out.extend(self.last_cursor.map(|cursor| ("nextCursor".to_owned(), cursor)));
        Value::Object(out)
    }
}

// === impl ListingProblem ===

impl ListingProblem {
    /// A stable name.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::CursorLoop { .. } => "cursor_loop",
            Self::TooManyPages => "too_many_pages",
            Self::TooManyTools => "too_many_tools",
            Self::TooLarge => "too_large",
            Self::NoTools { .. } => "no_tools",
            Self::CursorInvalid { .. } => "next_cursor_invalid",
        }
    }
}

impl fmt::Display for ListingProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CursorLoop { page } => write!(f, "page {page} gives a cursor that an earlier page gave"),
            Self::TooManyPages => write!(f, "there are more than {MOST_PAGES} pages"),
            Self::TooManyTools => write!(f, "there are more than {MOST_TOOLS} tools"),
            Self::TooLarge => write!(f, "the pages are larger than {} MiB together", MOST_BYTES >> 20),
            Self::NoTools { page } => write!(f, "page {page} has no list of tools"),
            Self::CursorInvalid { page } => write!(f, "`nextCursor` of page {page} is no text"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NEW: Revision = Revision::V2026_07_28;

    fn page(tools: usize, cursor: Option<Value>) -> Value {
        let mut page = json!({"tools": vec![json!({"name": "t"}); tools], "cacheScope": "private"});
        if let Some(cursor) = cursor {
            page["nextCursor"] = cursor;
        }
        page
    }

    #[test]
    fn pages_become_one_list() {
        let mut listing = Listing::new(NEW);
        assert_eq!(listing.take(page(2, Some(json!("a"))), 10), NextPage::At("a".to_owned()));
        assert_eq!(listing.take(page(0, Some(json!(""))), 10), NextPage::At(String::new()));
        assert_eq!(listing.take(page(1, None), 10), NextPage::Done);
        assert_eq!((listing.pages(), listing.tools(), listing.scope_differs()), (3, 3, false));
        let merged = listing.merged();
        assert_eq!((merged["tools"].as_array().map(Vec::len), merged.get("nextCursor")), (Some(3), None));
        assert_eq!(merged["cacheScope"], "private");
    }

    #[test]
    fn a_list_without_end_is_given_up() {
        let mut listing = Listing::new(NEW);
        assert_eq!(listing.take(page(1, Some(json!("a"))), 1), NextPage::At("a".to_owned()));
        let stop = listing.take(page(1, Some(json!("a"))), 1);
        assert_eq!(stop, NextPage::Stop(ListingProblem::CursorLoop { page: 2 }));
        assert_eq!(listing.merged()["nextCursor"], "a", "the list shows that it is not whole");

        let mut fresh = Listing::new(NEW);
        let stop = (0..).find_map(|n| match fresh.take(page(0, Some(json!(n.to_string()))), 1) {
            NextPage::At(_) => None,
            other => Some(other),
        });
        assert_eq!(stop, Some(NextPage::Stop(ListingProblem::TooManyPages)));

        let mut huge = Listing::new(NEW);
        assert_eq!(huge.take(page(100_000, None), 1), NextPage::Stop(ListingProblem::TooManyTools));
        assert_eq!(huge.tools(), MOST_TOOLS);
        let mut large = Listing::new(NEW);
        assert_eq!(large.take(page(1, Some(json!("a"))), MOST_BYTES + 1), NextPage::Stop(ListingProblem::TooLarge));
    }

    #[test]
    fn ends_are_read_as_the_revision_means_them() {
        let next = |revision, cursor| Listing::new(revision).take(page(1, Some(cursor)), 1);
        assert_eq!(next(Revision::V2025_11_25, json!("")), NextPage::Done);
        assert_eq!(next(NEW, json!("")), NextPage::At(String::new()));
        assert_eq!(next(NEW, Value::Null), NextPage::Done);
        assert_eq!(next(NEW, json!(3)), NextPage::Stop(ListingProblem::CursorInvalid { page: 1 }));
        let mut none = Listing::new(NEW);
        assert_eq!(none.take(json!({"tools": {}}), 1), NextPage::Stop(ListingProblem::NoTools { page: 1 }));
    }

    #[test]
    fn one_list_has_one_scope() {
        let mut listing = Listing::new(NEW);
        listing.take(page(1, Some(json!("a"))), 1);
        listing.take(json!({"tools": [], "cacheScope": "public"}), 1);
        assert!(listing.scope_differs());
    }
}
