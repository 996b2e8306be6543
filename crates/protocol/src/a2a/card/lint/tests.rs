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
    let modes = |mode: &str| changed(|v| v["defaultOutputModes"] = json!([mode]));
    assert_eq!(modes("text"), one(ProblemKind::MediaType, Grade::Error, "/defaultOutputModes/0"));
    assert_eq!(modes("text/plain; utf-8"), one(ProblemKind::MediaType, Grade::Error, "/defaultOutputModes/0"));
    assert_eq!(modes("text/*"), one(ProblemKind::MediaType, Grade::Warning, "/defaultOutputModes/0"));
    assert_eq!(changed(|v| v["name"] = json!(7)), invalid("/name"));
    assert_eq!(changed(|v| v["skills"] = json!({})), invalid("/skills"));
    let version = |text: &str| changed(|v| v["supportedInterfaces"][0]["protocolVersion"] = json!(text));
    assert_eq!(version("one"), invalid("/supportedInterfaces/0/protocolVersion"));
    assert_eq!(version("1.0.1"), one(ProblemKind::Invalid, Grade::Warning, "/supportedInterfaces/0/protocolVersion"));
}

#[test]
fn security_schemes_have_one_type_with_all_it_needs() {
    let scheme = |scheme: Value| {
        let got = changed(|v| v["securitySchemes"]["bearer"] = scheme);
        got.into_iter().map(|(kind, grade, pointer)| (kind, grade, pointer.replace("/securitySchemes/bearer", "")))
    };
    let invalid = |pointer: &str| one(ProblemKind::Invalid, Grade::Error, pointer);
    let missing = |pointer: &str| one(ProblemKind::Missing, Grade::Error, pointer);
    let oauth = |flows: Value| json!({"oauth2SecurityScheme": {"flows": flows}});
    let flow = json!({"tokenUrl": "https://a.test/t", "scopes": {"r": "read"}});
    for (value, expected) in [
        (json!({"type": "http", "scheme": "bearer"}), invalid("")),
        (json!({}), invalid("")),
        (json!("bearer"), invalid("")),
        (json!({"mtlsSecurityScheme": {}, "httpAuthSecurityScheme": {"scheme": "Bearer"}}), invalid("")),
        (json!({"httpAuthSecurityScheme": {}}), missing("/httpAuthSecurityScheme/scheme")),
        (json!({"apiKeySecurityScheme": {"location": "body", "name": "k"}}), invalid("/apiKeySecurityScheme/location")),
        (
            json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": "a"}}),
            invalid("/openIdConnectSecurityScheme/openIdConnectUrl"),
        ),
        (oauth(json!({})), invalid("/oauth2SecurityScheme/flows")),
        (oauth(json!({"clientCredentials": flow, "deviceCode": flow})), invalid("/oauth2SecurityScheme/flows")),
        (
            oauth(json!({"authorizationCode": flow})),
            missing("/oauth2SecurityScheme/flows/authorizationCode/authorizationUrl"),
        ),
        (
            oauth(json!({"implicit": flow})),
            one(ProblemKind::Invalid, Grade::Warning, "/oauth2SecurityScheme/flows/implicit"),
        ),
        (
            oauth(json!({"clientCredentials": {"tokenUrl": "https://a.test/t"}})),
            one(ProblemKind::Missing, Grade::Warning, "/oauth2SecurityScheme/flows/clientCredentials/scopes"),
        ),
        (oauth(json!({"clientCredentials": {"tokenUrl": "https://a.test/t", "scopes": {}}})), Vec::new()),
        (oauth(json!({"clientCredentials": flow})), Vec::new()),
        (json!({"mtlsSecurityScheme": {}}), Vec::new()),
    ] {
        assert_eq!(scheme(value.clone()).collect::<Vec<_>>(), expected, "{value}");
    }
}

#[test]
fn a_requirement_that_a_strict_reader_drops_is_one_of_its_own() {
    let dropped = |pointer: &str| one(ProblemKind::Requirement, Grade::Error, pointer);
    let requirement = |value: Value| changed(|v| v["securityRequirements"] = json!([value]));
    for (value, pointer) in [
        (json!({"schemes": {"o/auth": {"list": []}}}), "/securityRequirements/0/schemes/o~1auth"),
        (json!({"bearer": []}), "/securityRequirements/0"),
        (json!({}), "/securityRequirements/0"),
        (json!({"schemes": {}}), "/securityRequirements/0"),
        (json!({"schemes": ["bearer"]}), "/securityRequirements/0/schemes"),
        (json!({"schemes": {"bearer": []}}), "/securityRequirements/0/schemes/bearer"),
        (json!({"schemes": {"bearer": {"scopes": ["r"]}}}), "/securityRequirements/0/schemes/bearer"),
        (json!({"schemes": {"bearer": {"list": [1]}}}), "/securityRequirements/0/schemes/bearer/list"),
    ] {
        assert_eq!(requirement(value.clone()), dropped(pointer), "{value}");
    }
    assert_eq!(requirement(json!({"schemes": {"bearer": {}}})), []);
    let or_open = changed(|v| v["securityRequirements"].as_array_mut().unwrap().push(json!({})));
    assert_eq!(or_open, one(ProblemKind::Requirement, Grade::Warning, "/securityRequirements/1"));
}

#[test]
fn requirements_of_older_versions_fail_closed() {
    for (name, value) in [
        ("security", json!([{"bearer": []}])),
        ("authentication", json!({"schemes": ["bearer"]})),
        ("security_requirements", json!([{"schemes": {"bearer": {}}}])),
    ] {
        let got = changed(|v| {
            v.as_object_mut().unwrap().remove("securityRequirements");
            v[name] = value;
        });
        assert_eq!(got, one(ProblemKind::Requirement, Grade::Error, &format!("/{name}")));
    }
    let of_skill = changed(|v| v["skills"][0]["security"] = json!([{"bearer": []}]));
    assert_eq!(of_skill, one(ProblemKind::Requirement, Grade::Error, "/skills/0/security"));
    let forgotten = changed(|v| _ = v.as_object_mut().unwrap().remove("securityRequirements"));
    assert_eq!(forgotten, one(ProblemKind::Requirement, Grade::Warning, "/securityRequirements"));
}

#[test]
fn extensions_have_a_name_and_stand_once() {
    let extensions = |list: Value| changed(|v| v["capabilities"]["extensions"] = list);
    let uri = |n: usize| format!("/capabilities/extensions/{n}/uri");
    assert_eq!(extensions(json!([{"uri": "urn:a"}, {"uri": "urn:b", "required": true, "params": {}}])), []);
    assert_eq!(extensions(json!([{"required": true}])), one(ProblemKind::Missing, Grade::Error, &uri(0)));
    assert_eq!(extensions(json!([{"description": "x"}])), one(ProblemKind::Missing, Grade::Warning, &uri(0)));
    assert_eq!(extensions(json!([{"uri": "no uri"}])), one(ProblemKind::Invalid, Grade::Warning, &uri(0)));
    let twice = |required: bool| extensions(json!([{"uri": "urn:a"}, {"uri": "urn:a", "required": required}]));
    assert_eq!(twice(false), one(ProblemKind::Invalid, Grade::Warning, &uri(1)));
    assert_eq!(twice(true), one(ProblemKind::Invalid, Grade::Error, &uri(1)));
}

#[test]
fn interfaces_that_repeat_or_misspell_their_binding_are_warned_about() {
    let warned = |pointer: &str| one(ProblemKind::Invalid, Grade::Warning, pointer);
    let twice = changed(|v| {
        let interface = v["supportedInterfaces"][0].clone();
        v["supportedInterfaces"].as_array_mut().unwrap().push(interface);
    });
    assert_eq!(twice, warned("/supportedInterfaces/1"));
    let binding = |name: &str| changed(|v| v["supportedInterfaces"][0]["protocolBinding"] = json!(name));
    assert_eq!(binding("REST"), warned("/supportedInterfaces/0/protocolBinding"));
    assert_eq!(binding("https://b.example/custom/v1"), []);
}

#[test]
fn a_member_in_snake_case_is_named() {
    let mut value = honest();
    value["default_input_modes"] = value["defaultInputModes"].take();
    let problems = Card::new(value).problems();
    assert!(problems[0].what.contains("spells it `default_input_modes`"), "{problems:?}");
}

#[test]
fn all_problems_come_at_once() {
    assert_eq!(found(json!({})).len(), 8);
    assert_eq!(found(json!([])).len(), 8, "what is no object has no members");
}
