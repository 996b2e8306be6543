//! How signed facts name what was waived: never among what passed, and always with the waiver that excused it (L-09).

use std::collections::{BTreeMap, BTreeSet};

use ostiary_canon::intoto::{ResourceDescriptor, TestVerdict};
use ostiary_domain::Waived;

/// The names of the waived checks, each once.
pub(super) fn names(waived: &[Waived]) -> Vec<String> {
    waived.iter().map(|w| w.check.to_string()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The waived checks as a test result names them: under their profile.
pub(super) fn tests(waived: &[Waived]) -> BTreeSet<String> {
    let name = |w: &Waived| match &w.profile {
        Some(profile) => format!("{}@{profile}", w.check),
        None => w.check.to_string(),
    };
    waived.iter().map(name).collect()
}

/// A gate that opened by a waiver has not passed: whoever reads only the result must not take it for that.
pub(super) fn verdict(of_gate: TestVerdict, waived: &[Waived]) -> TestVerdict {
    match of_gate {
        TestVerdict::Passed if !waived.is_empty() => TestVerdict::Warned,
        other => other,
    }
}

/// The waivers as conditions of the run.
pub(super) fn descriptors(waived: &[Waived]) -> Vec<ResourceDescriptor> {
    let one = |w: &Waived| {
        let mut annotations = BTreeMap::from([
            ("check".to_owned(), w.check.to_string().into()),
            ("verdict".to_owned(), "WAIVED".into()),
            ("found".to_owned(), if w.failed { "FAIL" } else { "INCONCLUSIVE" }.into()),
            ("reason_code".to_owned(), w.code.as_str().into()),
            ("until".to_owned(), w.until.to_string().into()),
        ]);
        annotations.extend(w.profile.as_ref().map(|profile| ("profile".to_owned(), profile.to_string().into())));
        let (name, uri) = (Some(format!("waiver/{}", w.waiver)), Some(format!("ostiary:waiver/{}", w.waiver)));
        ResourceDescriptor { name, uri, annotations, ..ResourceDescriptor::default() }
    };
    waived.iter().map(one).collect()
}
