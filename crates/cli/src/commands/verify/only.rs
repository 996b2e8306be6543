//! What `--only` may name: a name that nothing has would select nothing, and a run of nothing looks harmless.

use std::collections::BTreeSet;

use ostiary_contract::Bundle;
use ostiary_verify::Harness;

use crate::error::CliError;

/// Most slips of the finger in a name that is still recognised.
const SLIPS: usize = 3;

/// Refuses names that no check, scenario or case has.
///
/// # Errors
/// The first such name, with the nearest that exists.
pub(super) fn known(only: &[String], harness: &Harness, bundle: &Bundle) -> Result<(), CliError> {
    let checks = harness.checks().map(|check| check.spec().id);
    let scenarios = harness.scenarios().map(|scenario| scenario.spec().id);
    let cases = bundle.cases.iter().map(|case| case.id.as_str());
    let names: BTreeSet<&str> = checks.chain(scenarios).chain(cases).collect();
    let Some(unknown) = only.iter().find(|name| !names.contains(name.as_str())) else { return Ok(()) };
    let error = CliError::usage(format!("--only: no check, scenario or case is named `{unknown}`"));
    Err(error.hint(match nearest(unknown, &names) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "the checks are listed in the documentation, the cases are the files of the bundle".to_owned(),
    }))
}

/// The name that was meant, probably: one that holds the text, or that few slips turn into it.
fn nearest<'n>(wrote: &str, names: &BTreeSet<&'n str>) -> Option<&'n str> {
    let slips = names.iter().map(|name| (distance(wrote, name), *name)).min();
    let close = slips.filter(|(slips, name)| *slips <= SLIPS.min(name.len() / 2)).map(|(_, name)| name);
    close.or_else(|| names.iter().copied().find(|name| wrote.len() > SLIPS && name.contains(wrote)))
}

/// How many letters must be added, dropped or replaced.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{BTreeSet, distance, nearest};

    #[test]
    fn a_slip_finds_its_name_and_nonsense_finds_none() {
        let names = BTreeSet::from(["a2a.task.terminal", "a2a.stream.complete", "schema.input"]);
        assert_eq!(nearest("a2a.task.terminl", &names), Some("a2a.task.terminal"));
        assert_eq!(nearest("stream", &names), Some("a2a.stream.complete"));
        assert_eq!(nearest("nonexist", &names), None);
        assert_eq!((distance("", "abc"), distance("kitten", "sitting")), (3, 3));
    }
}
