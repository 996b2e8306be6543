use serde_json::json;

use super::*;
use crate::a2a::card::tests::honest;

fn found(value: Value) -> Vec<(ProblemKind, Grade, String)> {
    Card::new(value).problems().into_iter().map(|p| (p.kind, p.grade, p.pointer)).collect()
}

fn changed(change: impl FnOnce(&mut Value)) -> Vec<(ProblemKind, Grade, String)> {
    let mut value = honest();
    change(&mut value);
    found(value)
}

fn one(kind: ProblemKind, grade: Grade, pointer: &str) -> Vec<(ProblemKind, Grade, String)> {
    vec![(kind, grade, pointer.to_owned())]
}

#[test]
fn an_honest_card_has_no_problem() {
    assert_eq!(found(honest()), []);
}

#[test]
fn each_required_member_is_missed_at_its_pointer() {
    let required = [
        "/name",
        "/description",
        "/version",
        "/supportedInterfaces",
        "/capabilities",
        "/defaultInputModes",
        "/defaultOutputModes",
        "/skills",
        "/supportedInterfaces/0/url",
        "/supportedInterfaces/0/protocolBinding",
        "/supportedInterfaces/0/protocolVersion",
        "/skills/0/id",
        "/skills/0/name",
        "/skills/0/description",
        "/skills/0/tags",
    ];
    for pointer in required {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let got = changed(|v| {
            v.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
        });
        assert_eq!(got, one(ProblemKind::Missing, Grade::Error, pointer));
        let null = changed(|v| *v.pointer_mut(pointer).unwrap() = Value::Null);
        assert_eq!(null, one(ProblemKind::Missing, Grade::Error, pointer), "null is unset");
    }
}

#[test]
fn what_sdks_print_for_unset_members_is_fine() {
    let got = changed(|v| {
        v["supportedInterfaces"][0]["tenant"] = json!("");
        v["documentationUrl"] = json!("");
        v["capabilities"]["extensions"] = json!([]);
        v["skills"][0]["inputModes"] = json!([]);
        v["signatures"] = json!([]);
        v["unknownMember"] = json!({"x": 1});
    });
    assert_eq!(got, []);
}

#[test]
fn empty_lists_break_and_empty_texts_warn() {
    assert_eq!(changed(|v| v["skills"] = json!([])), one(ProblemKind::Missing, Grade::Error, "/skills"));
    assert_eq!(
        changed(|v| v["skills"][0]["tags"] = json!([])),
        one(ProblemKind::Missing, Grade::Error, "/skills/0/tags")
    );
    assert_eq!(changed(|v| v["description"] = json!("")), one(ProblemKind::Missing, Grade::Warning, "/description"));
    assert_eq!(changed(|v| v["skills"][0]["id"] = json!("")), one(ProblemKind::Missing, Grade::Error, "/skills/0/id"));
}

#[test]
fn wrong_types_and_formats_are_invalid() {
    let invalid = |pointer: &str| one(ProblemKind::Invalid, Grade::Error, pointer);
    assert_eq!(changed(|v| v["capabilities"]["streaming"] = json!("true")), invalid("/capabilities/streaming"));
    assert_eq!(changed(|v| v["defaultOutputModes"] = json!(["text"])), invalid("/defaultOutputModes/0"));
    assert_eq!(changed(|v| v["name"] = json!(7)), invalid("/name"));
    assert_eq!(changed(|v| v["skills"] = json!({})), invalid("/skills"));
    let version = |text: &str| changed(|v| v["supportedInterfaces"][0]["protocolVersion"] = json!(text));
    assert_eq!(version("one"), invalid("/supportedInterfaces/0/protocolVersion"));
    assert_eq!(version("1.0.1"), one(ProblemKind::Invalid, Grade::Warning, "/supportedInterfaces/0/protocolVersion"));
}

#[test]
fn security_schemes_and_their_names_are_checked() {
    let invalid = |pointer: &str| one(ProblemKind::Invalid, Grade::Error, pointer);
    let old = changed(|v| v["securitySchemes"]["bearer"] = json!({"type": "http", "scheme": "bearer"}));
    assert_eq!(old, invalid("/securitySchemes/bearer"));
    let unknown = changed(|v| v["securityRequirements"][0]["schemes"] = json!({"o/auth": {"list": []}}));
    assert_eq!(unknown, invalid("/securityRequirements/0/schemes/o~1auth"));
    let bare = changed(|v| v["securitySchemes"]["bearer"] = json!({"httpAuthSecurityScheme": {}}));
    assert_eq!(bare, one(ProblemKind::Missing, Grade::Error, "/securitySchemes/bearer/httpAuthSecurityScheme/scheme"));
}

#[test]
fn all_problems_come_at_once() {
    assert_eq!(found(json!({})).len(), 8);
    assert_eq!(found(json!([])).len(), 8, "what is no object has no members");
}
