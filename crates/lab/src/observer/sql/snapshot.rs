//! Tables at one moment, and what lies between two moments. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// All watched tables at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// By name.
    pub tables: BTreeMap<String, TableState>,
}

/// One table at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableState {
    /// Whether rows are told apart by a primary key; else by their whole contents.
    pub keyed: bool,
    /// Whether the table was longer than what was looked at.
    pub cut: bool,
    rows: BTreeMap<String, Row>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    digest: [u8; 32],
    /// How many there are alike, where no key tells them apart.
    count: u64,
}

/// What changed in one table. Keys are JSON lists of the key's columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Whether rows are told apart by a primary key.
    pub keyed: bool,
    /// Whether all of both moments was seen.
    pub complete: bool,
    /// Keys that came.
    pub inserted: Vec<String>,
    /// Keys whose row changed.
    pub updated: Vec<String>,
    /// Keys that went.
    pub deleted: Vec<String>,
}

/// Keys that are listed for each kind of change; the rest is counted.
const LISTED: usize = 1_000;
/// Longest key that is listed as it is.
const KEY: usize = 512;

// === impl TableState ===

impl TableState {
    pub(super) fn new(keyed: bool) -> Self {
        Self { keyed, ..Self::default() }
    }

    /// How many rows were looked at.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.rows.values().map(|row| row.count).sum()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row by its contents; `key` `None` = it has no key.
    pub(super) fn add(&mut self, key: Option<String>, contents: &[u8]) {
        let digest: [u8; 32] = Sha256::digest(contents).into();
        let named =
            |bytes: &[u8; 32]| format!("sha256:{}", bytes[..8].iter().map(|b| format!("{b:02x}")).collect::<String>());
        let key = match key {
            None => named(&digest),
            Some(key) if key.len() > KEY => named(&Sha256::digest(key.as_bytes()).into()),
            Some(key) => key,
        };
        self.rows.entry(key).or_insert(Row { digest, count: 0 }).count += 1;
    }
}

// === impl Snapshot ===

impl Snapshot {
    /// What changed from here to a later moment, by table.
    #[must_use]
    pub fn changes_to(&self, later: &Self) -> BTreeMap<String, Changes> {
        let names: BTreeSet<_> = self.tables.keys().chain(later.tables.keys()).collect();
        let empty = TableState::default();
        let of = |snapshot: &Self, name: &String| snapshot.tables.get(name).cloned().unwrap_or_else(|| empty.clone());
        names.into_iter().map(|name| (name.clone(), changes(&of(self, name), &of(later, name)))).collect()
    }
}

fn changes(before: &TableState, after: &TableState) -> Changes {
    let complete = !before.cut && !after.cut;
    let mut changes = Changes { keyed: after.keyed, complete, ..Changes::default() };
    for (key, row) in &after.rows {
        match before.rows.get(key) {
            None => changes.inserted.extend(times(key, row.count)),
            Some(old) if old.digest != row.digest => changes.updated.push(key.clone()),
            Some(old) => {
                changes.inserted.extend(times(key, row.count.saturating_sub(old.count)));
                changes.deleted.extend(times(key, old.count.saturating_sub(row.count)));
            }
        }
    }
    let gone = before.rows.iter().filter(|(key, _)| !after.rows.contains_key(*key));
    changes.deleted.extend(gone.flat_map(|(key, row)| times(key, row.count)));
    if !complete {
        // The look ends somewhere: what is beyond it at one moment and within it at the other has not moved.
        changes.inserted.clear();
        changes.deleted.clear();
    }
    changes
}

fn times(key: &str, count: u64) -> impl Iterator<Item = String> {
    std::iter::repeat_n(key.to_owned(), usize::try_from(count).unwrap_or(usize::MAX))
}

/// Changes as an observation, by kind of effect; and whether all was seen.
pub(super) fn told(changes: &BTreeMap<String, Changes>, effects: &BTreeMap<&str, &str>) -> (Value, bool) {
    let mut kinds: Map<String, Value> = Map::new();
    for (table, change) in changes {
        let kind = effects.get(table.as_str()).copied().unwrap_or("records");
        let mut told = json!({"keyed": change.keyed, "complete": change.complete});
        for (name, keys) in [("inserted", &change.inserted), ("updated", &change.updated), ("deleted", &change.deleted)]
        {
            told[name] = json!(keys.iter().take(LISTED).collect::<Vec<_>>());
            if keys.len() > LISTED {
                told[format!("{name}_more")] = json!(keys.len() - LISTED);
            }
        }
        kinds.entry(kind).or_insert_with(|| json!({}))[table] = told;
    }
    (Value::Object(kinds), changes.values().all(|change| change.complete))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(keyed: bool, rows: &[(&str, &str)]) -> Snapshot {
        let mut state = TableState::new(keyed);
        for (key, contents) in rows {
            state.add(keyed.then(|| (*key).to_owned()), contents.as_bytes());
        }
        Snapshot { tables: [("t".to_owned(), state)].into() }
    }

    fn between(before: &Snapshot, after: &Snapshot) -> Changes {
        before.changes_to(after).remove("t").unwrap()
    }

    #[test]
    fn rows_that_came_changed_and_went_are_told_apart() {
        let before = table(true, &[("[1]", "a"), ("[2]", "b"), ("[3]", "c")]);
        let after = table(true, &[("[1]", "a"), ("[2]", "B"), ("[4]", "d")]);
        let changes = between(&before, &after);
        assert_eq!(changes.inserted, ["[4]"]);
        assert_eq!(changes.updated, ["[2]"]);
        assert_eq!(changes.deleted, ["[3]"]);
        assert!(changes.complete && changes.keyed);
    }

    #[test]
    fn nothing_lies_between_a_moment_and_itself() {
        let now = table(true, &[("[1]", "a")]);
        assert_eq!(between(&now, &now), Changes { keyed: true, complete: true, ..Changes::default() });
    }

    #[test]
    fn without_a_key_equal_rows_are_counted() {
        let before = table(false, &[("", "a"), ("", "a"), ("", "b")]);
        let after = table(false, &[("", "a"), ("", "b"), ("", "b"), ("", "b")]);
        let changes = between(&before, &after);
        assert_eq!((changes.inserted.len(), changes.updated.len(), changes.deleted.len()), (2, 0, 1));
    }

    #[test]
    fn a_cut_table_proves_changes_of_rows_and_nothing_else() {
        let before = table(true, &[("[1]", "a"), ("[2]", "b")]);
        let mut after = table(true, &[("[1]", "A"), ("[3]", "c")]);
        after.tables.get_mut("t").unwrap().cut = true;
        let changes = between(&before, &after);
        assert_eq!((changes.updated.len(), changes.inserted.len(), changes.deleted.len()), (1, 0, 0));
        let (_, complete) = told(&before.changes_to(&after), &BTreeMap::new());
        assert!(!complete);
    }

    #[test]
    fn long_lists_are_counted() {
        let rows: Vec<_> = (0..LISTED + 5).map(|n| format!("[{n}]")).collect();
        let rows: Vec<_> = rows.iter().map(|key| (key.as_str(), "x")).collect();
        let changes = table(true, &[]).changes_to(&table(true, &rows));
        let (effects, complete) = told(&changes, &[("t", "outbox")].into());
        assert_eq!(effects["outbox"]["t"]["inserted"].as_array().unwrap().len(), LISTED);
        assert_eq!((&effects["outbox"]["t"]["inserted_more"], complete), (&json!(5), true));
    }
}
