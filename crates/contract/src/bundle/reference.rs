//! References from file to file: each stays inside the bundle and finds what it names (B-04).

use super::{
    Files,
    files::path_problem,
    gather::{CONTRACT, Parts},
    layout::{FileKind, Layout},
};
use crate::{
    decode::Located,
    file::contract::ToolDeclarations,
    problem::{Code, Problem},
};

/// Reports every reference that leaves the bundle or finds nothing.
pub(super) fn check(parts: &mut Parts, files: &Files, layout: &Layout) {
    let mut found = Vec::new();
    contract_paths(parts, files, &mut found);
    bare_names(parts, files, layout, &mut found);
    parts.problems.append(&mut found);
}

/// What is wrong with a path that a file gives; `None` when it may be looked up.
fn leaves(file: &str, path: &Located<String>) -> Option<Problem> {
    if path.contains("://") {
        let message = format!("`{}` is an address, not a path inside the bundle", crate::yaml::clip(path));
        let problem = Problem::new(file, Code::RemoteReference, message).at(path.at);
        return Some(problem.hint("copy the file into the bundle"));
    }
    let wrong = path_problem(path.trim_end_matches('/'))?;
    let message = format!("`{}`: {}", crate::yaml::clip(path), wrong.message);
    Some(Problem::new(file, Code::PathRefused, message).at(path.at).hint("use plain relative paths inside the bundle"))
}

fn contract_paths(parts: &Parts, files: &Files, found: &mut Vec<Problem>) {
    let sections = &parts.sections;
    let mut paths: Vec<&Located<String>> = Vec::new();
    paths.extend(&sections.declarations.agent_card);
    match &sections.declarations.mcp_tools {
        Some(ToolDeclarations::Path(path)) => paths.push(path),
        Some(ToolDeclarations::List(list)) => paths.extend(list.iter().map(|d| &d.path)),
        None => {}
    }
    paths.extend(&sections.models.task_state_machine);
    paths.extend(&sections.models.invariants);
    paths.extend(&sections.expected_results.reason_codes);
    for path in paths {
        let problem = leaves(CONTRACT, path).or_else(|| {
            let message = format!("`{}` is not in the bundle", crate::yaml::clip(path));
            let missing = || Problem::new(CONTRACT, Code::ReferenceMissing, message).at(path.at);
            (!files.contains_key(&path.value)).then(|| missing().hint("add the file, or correct the path"))
        });
        found.extend(problem);
    }
    let examples = &sections.examples;
    let directories =
        [&examples.consumer_pacts, &examples.positive_cases, &examples.negative_cases, &examples.regression_cases];
    // A directory may be empty: archives do not carry empty ones.
    found.extend(directories.into_iter().flatten().filter_map(|d| leaves(CONTRACT, d)));
}

fn bare_names(parts: &Parts, files: &Files, layout: &Layout, found: &mut Vec<Problem>) {
    let file_of = |kind: FileKind| files.keys().find(|p| layout.kind(p) == Some(kind)).map_or("", String::as_str);
    let mut look = |file: &str, name: &Located<String>| found.extend(resolve(file, name, files).err());
    let skills = file_of(FileKind::Skills);
    for example in parts.skills.iter().flat_map(|s| &s.examples) {
        look(skills, &example.input_fixture);
        let named = example.expected_artifact_schema.iter().chain(&example.answer_fixture).chain(&example.acceptance);
        let same = example.expected_parts.iter().filter_map(|part| part.same_as.as_ref());
        named.chain(same).for_each(|s| look(skills, s));
    }
    let errors = file_of(FileKind::Errors);
    parts.errors.iter().filter_map(|e| e.data_schema.as_ref()).for_each(|s| look(errors, s));
    for case in &parts.cases {
        let (when, expect) = (case.when(), case.expect());
        when.and_then(|w| w.input_fixture.as_ref()).into_iter().for_each(|f| look(&case.path, f));
        expect.and_then(|e| e.artifact_schema.as_ref()).into_iter().for_each(|s| look(&case.path, s));
    }
}

/// The file that a name stands for: a path, or a bare name in `schemas/` or `fixtures/`.
fn resolve(file: &str, name: &Located<String>, files: &Files) -> Result<String, Problem> {
    if let Some(problem) = leaves(file, name) {
        return Err(problem);
    }
    let bare = !name.contains('/');
    let candidates: Vec<String> = if bare {
        ["schemas/", "fixtures/"]
            .iter()
            .map(|d| format!("{d}{}", name.value))
            .filter(|p| files.contains_key(p))
            .collect()
    } else {
        files.contains_key(&name.value).then(|| name.value.clone()).into_iter().collect()
    };
    match &candidates[..] {
        [one] => Ok(one.clone()),
        [] => {
            let message = format!("`{}` is not in the bundle", crate::yaml::clip(name));
            let hint = if bare { "add it under schemas/ or fixtures/" } else { "add the file, or correct the path" };
            Err(Problem::new(file, Code::ReferenceMissing, message).at(name.at).hint(hint))
        }
        _ => {
            let message = format!("`{}` stands for {}", crate::yaml::clip(name), candidates.join(" and for "));
            Err(Problem::new(file, Code::ReferenceAmbiguous, message).at(name.at).hint("write the whole path"))
        }
    }
}
