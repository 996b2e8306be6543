//! A decision, said in HTTP: status, headers, and a problem document for a refusal.

use http::StatusCode;
use ostiary_proto::admission::v1::{
    AdmissionClass, CheckAdmissionRequest, CheckAdmissionResponse, DecisionReason, EnforcementMode, Outcome,
};
use serde_json::{Value, json};

use super::question::Unclear;

/// What a gateway is told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// Whether the request goes on to the agent.
    pub(crate) allowed: bool,
    /// How the refusal is told to the client; 200 for an allowed one.
    pub(crate) status: StatusCode,
    /// One name and value for each thing that is known; names are those of headers without `x-ostiary-`.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// The namespace is in `warn`, and this would have been refused: people are to be told.
    pub(crate) warns: bool,
    /// For a refusal.
    pub(crate) problem: Option<Value>,
}

/// Everything that an answer may say; what it does not say is taken off the request, so that nobody can forge it.
pub(crate) const FACTS: [&str; 9] =
    ["decision", "reason", "would-deny", "mode", "class", "waived", "revision", "valid-until", "evidence-digest"];

/// Media type of problem details (RFC 9457).
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// The code of a question that could not be put together.
const UNCLEAR: &str = "QUESTION_UNCLEAR";

/// The code of a decision that this program does not know.
const UNKNOWN: &str = "UNKNOWN";

// === impl Answer ===

impl Answer {
    /// Of a decision. What is not understood denies.
    pub(crate) fn of(asked: &CheckAdmissionRequest, decided: &CheckAdmissionResponse) -> Self {
        let reason = DecisionReason::try_from(decided.reason).unwrap_or_default();
        let allows = matches!(reason, DecisionReason::Allowed | DecisionReason::AllowedWouldDeny);
        let allowed = Outcome::try_from(decided.outcome) == Ok(Outcome::Allow) && allows;
        // the view behind the decision is behind, which passes by itself
        let passing = matches!(reason, DecisionReason::ViewStale | DecisionReason::RevisionNotReached);
        let status = match (allowed, passing) {
            (true, _) => StatusCode::OK,
            (false, true) => StatusCode::SERVICE_UNAVAILABLE,
            (false, false) => StatusCode::FORBIDDEN,
        };
        let code = short(reason.as_str_name(), REASON).unwrap_or(UNKNOWN);
        let mode = EnforcementMode::try_from(decided.mode).unwrap_or_default();
        Self {
            allowed,
            status,
            facts: facts(allowed, code, decided),
            warns: allowed && reason == DecisionReason::AllowedWouldDeny && mode == EnforcementMode::Warn,
            problem: (!allowed).then(|| {
                let detail = format!("`{}` in version `{}` is not to be called: {code}", asked.agent, asked.version);
                let mut problem = problem(code, "Dispatch refused", status, &detail);
                problem["revision"] = decided.revision.as_ref().map(|token| token.revision).into();
                problem
            }),
        }
    }

    /// Of a question that is none: a refusal that no admission can change.
    pub(crate) fn unclear(why: &Unclear) -> Self {
        let status = StatusCode::FORBIDDEN;
        Self {
            allowed: false,
            status,
            facts: vec![("decision", "DENY".to_owned()), ("reason", UNCLEAR.to_owned())],
            warns: false,
            problem: Some(problem(UNCLEAR, "The gateway's question is unclear", status, &why.to_string())),
        }
    }

    /// What it says about this; nothing where it is silent.
    pub(crate) fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

/// A problem document.
pub(crate) fn problem(code: &str, title: &str, status: StatusCode, detail: &str) -> Value {
    json!({
        "type": format!("urn:ostiary:problem:{code}"), "title": title, "status": status.as_u16(), "code": code,
        "detail": detail, "retryable": status == StatusCode::SERVICE_UNAVAILABLE,
    })
}

const REASON: &str = "DECISION_REASON_";

fn facts(allowed: bool, code: &str, decided: &CheckAdmissionResponse) -> Vec<(&'static str, String)> {
    let would = DecisionReason::try_from(decided.would_deny).unwrap_or_default();
    let mode = EnforcementMode::try_from(decided.mode).unwrap_or_default();
    let class = AdmissionClass::try_from(decided.class).unwrap_or_default();
    let until = decided.valid_until.as_ref().and_then(|at| jiff::Timestamp::new(at.seconds, at.nanos).ok());
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let known = [
        ("decision", text(if allowed { "ALLOW" } else { "DENY" })),
        ("reason", text(code)),
        ("would-deny", short(would.as_str_name(), REASON).map(str::to_owned)),
        ("mode", short(mode.as_str_name(), "ENFORCEMENT_MODE_").map(str::to_ascii_lowercase)),
        ("class", short(class.as_str_name(), "ADMISSION_CLASS_").map(str::to_ascii_lowercase)),
        ("waived", text(&decided.waived.join(","))),
        ("revision", decided.revision.as_ref().map(|token| token.revision.to_string())),
        ("valid-until", until.map(|at| at.to_string())),
        ("evidence-digest", text(&decided.evidence_digest)),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// A value's name without its prefix; none for the value that says nothing.
fn short<'n>(name: &'n str, prefix: &str) -> Option<&'n str> {
    let name = name.strip_prefix(prefix).unwrap_or(name);
    (name != "UNSPECIFIED").then_some(name)
}

#[cfg(test)]
mod tests {
    use ostiary_proto::admission::v1::RevisionToken;

    use super::*;

    fn decided(outcome: Outcome, reason: DecisionReason) -> CheckAdmissionResponse {
        CheckAdmissionResponse {
            outcome: outcome.into(),
            reason: reason.into(),
            mode: EnforcementMode::Enforce.into(),
            class: AdmissionClass::Full.into(),
            valid_until: Some(prost_types::Timestamp { seconds: 1_800_000_000, nanos: 0 }),
            revision: Some(RevisionToken { revision: 42 }),
            evidence_digest: "sha256:e".to_owned(),
            waived: vec!["a.b".to_owned(), "c.d".to_owned()],
            ..CheckAdmissionResponse::default()
        }
    }

    fn answer(decided: &CheckAdmissionResponse) -> Answer {
        let asked = CheckAdmissionRequest { agent: "acme/a".to_owned(), version: "1".to_owned(), ..Default::default() };
        Answer::of(&asked, decided)
    }

    #[test]
    fn an_allow_says_what_it_rests_on() {
        let answer = answer(&decided(Outcome::Allow, DecisionReason::Allowed));
        assert!(answer.allowed && answer.problem.is_none() && !answer.warns);
        let told = FACTS.map(|name| answer.fact(name).unwrap_or_default());
        let until = "2027-01-15T08:00:00Z";
        assert_eq!(told, ["ALLOW", "ALLOWED", "", "enforce", "full", "a.b,c.d", "42", until, "sha256:e"]);
    }

    #[test]
    fn a_denial_is_a_problem_with_its_reason() {
        let answer = answer(&decided(Outcome::Deny, DecisionReason::Quarantined));
        assert_eq!((answer.allowed, answer.status), (false, StatusCode::FORBIDDEN));
        let problem = answer.problem.expect("a problem");
        assert_eq!(
            (&problem["code"], &problem["status"], &problem["revision"]),
            (&json!("QUARANTINED"), &json!(403), &json!(42))
        );
        assert_eq!(problem["detail"], "`acme/a` in version `1` is not to be called: QUARANTINED");
    }

    #[test]
    fn what_passes_by_itself_is_unavailable_and_denied() {
        for reason in [DecisionReason::ViewStale, DecisionReason::RevisionNotReached] {
            let answer = answer(&decided(Outcome::Deny, reason));
            assert_eq!((answer.allowed, answer.status), (false, StatusCode::SERVICE_UNAVAILABLE));
        }
    }

    #[test]
    fn a_value_from_the_future_is_a_denial() {
        let mut strange = decided(Outcome::Allow, DecisionReason::Allowed);
        strange.reason = 999;
        let denied = answer(&strange);
        assert_eq!(
            (denied.allowed, denied.fact("decision"), denied.fact("reason")),
            (false, Some("DENY"), Some("UNKNOWN"))
        );
        strange.reason = DecisionReason::Allowed.into();
        strange.outcome = 3;
        assert!(!answer(&strange).allowed);
        // contradicts itself
        assert!(!answer(&decided(Outcome::Allow, DecisionReason::Quarantined)).allowed);
        assert!(!answer(&CheckAdmissionResponse::default()).allowed);
    }

    #[test]
    fn a_trial_says_what_it_would_have_denied_and_warns_only_in_warn() {
        let mut trial = decided(Outcome::Allow, DecisionReason::AllowedWouldDeny);
        trial.would_deny = DecisionReason::EvidenceExpired.into();
        for (mode, warns) in [(EnforcementMode::Observe, false), (EnforcementMode::Warn, true)] {
            trial.mode = mode.into();
            let answer = answer(&trial);
            assert_eq!((answer.allowed, answer.warns), (true, warns));
            assert_eq!(answer.fact("would-deny"), Some("EVIDENCE_EXPIRED"));
        }
    }
}
