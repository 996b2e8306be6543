//! One question out of several sources of unequal trust.
//!
//! What an operator configured at the gateway wins, field by field. A request's headers may have been written by whoever
//! sent it: once anything is configured they are believed only where the configuration names them. A field that is
//! configured as empty is left out, whatever a header says. What is ambiguous is no question, and is refused.

use ostiary_proto::admission::v1::{CheckAdmissionRequest, Consistency, RevisionToken, consistency::Requirement};

/// What a question is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Agent,
    Version,
    CardDigest,
    Profile,
    ContractDigest,
    ProducerDigest,
    Consumer,
    Interface,
    CohortKey,
    AtLeastRevision,
}

/// What one source says.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    values: [Option<String>; Field::ALL.len()],
    believed: Option<Believed>,
}

/// Which headers are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Believed {
    All,
    Only(Vec<Field>),
}

/// What a header says: nothing that can be read, where it is not text.
pub(crate) type Heard = (Field, Option<String>);

/// Why there is no question. For the operator: names places and never repeats what a client sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unclear {
    #[error("`{0}` is no field of a question; fields are {list}", list = names())]
    Unknown(String),
    #[error("`{}` is given twice", .0.as_str())]
    Twice(Field),
    #[error("`{}` is longer than {LONGEST} bytes", .0.as_str())]
    TooLong(Field),
    #[error("the header of `{}` is not text", .0.as_str())]
    NotText(Field),
    #[error("`{HEADERS}` is given twice")]
    HeadersTwice,
    #[error("`{}` is no number", Field::AtLeastRevision.as_str())]
    Revision,
}

/// The setting that says which headers are believed.
pub(crate) const HEADERS: &str = "headers";

/// Longest value: a URL of an interface is the longest that is in use.
const LONGEST: usize = 2048;

// === impl Field ===

impl Field {
    /// All.
    pub(crate) const ALL: [Self; 10] = [
        Self::Agent,
        Self::Version,
        Self::CardDigest,
        Self::Profile,
        Self::ContractDigest,
        Self::ProducerDigest,
        Self::Consumer,
        Self::Interface,
        Self::CohortKey,
        Self::AtLeastRevision,
    ];

    /// Its name in configuration.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Version => "version",
            Self::CardDigest => "card-digest",
            Self::Profile => "profile",
            Self::ContractDigest => "contract-digest",
            Self::ProducerDigest => "producer-digest",
            Self::Consumer => "consumer",
            Self::Interface => "interface",
            Self::CohortKey => "cohort-key",
            Self::AtLeastRevision => "at-least-revision",
        }
    }

    /// Its header.
    pub(crate) const fn header(self) -> &'static str {
        match self {
            Self::Agent => "x-ostiary-agent",
            Self::Version => "x-ostiary-version",
            Self::CardDigest => "x-ostiary-card-digest",
            Self::Profile => "x-ostiary-profile",
            Self::ContractDigest => "x-ostiary-contract-digest",
            Self::ProducerDigest => "x-ostiary-producer-digest",
            Self::Consumer => "x-ostiary-consumer",
            Self::Interface => "x-ostiary-interface",
            Self::CohortKey => "x-ostiary-cohort-key",
            Self::AtLeastRevision => "x-ostiary-at-least-revision",
        }
    }

    fn named(name: &str) -> Result<Self, Unclear> {
        let found = Self::ALL.into_iter().find(|field| field.as_str() == name);
        found.ok_or_else(|| Unclear::Unknown(name.chars().take(64).collect()))
    }
}

fn names() -> String {
    Field::ALL.map(Field::as_str).join(", ")
}

// === impl Layer ===

impl Layer {
    /// Takes one word of the configuration.
    pub(crate) fn say(&mut self, name: &str, value: &str) -> Result<(), Unclear> {
        if name == HEADERS {
            if self.believed.is_some() {
                return Err(Unclear::HeadersTwice);
            }
            self.believed = Some(Believed::read(value)?);
            return Ok(());
        }
        self.set(Field::named(name)?, value.to_owned())
    }

    fn set(&mut self, field: Field, value: String) -> Result<(), Unclear> {
        if value.len() > LONGEST {
            return Err(Unclear::TooLong(field));
        }
        let place = &mut self.values[field as usize];
        if place.is_some() {
            return Err(Unclear::Twice(field));
        }
        *place = Some(value);
        Ok(())
    }

    /// What the believed ones among the headers say.
    fn of_headers(believed: &Believed, heard: Vec<Heard>) -> Result<Self, Unclear> {
        let mut layer = Self::default();
        for (field, value) in heard {
            if believed.includes(field) {
                let value = value.ok_or(Unclear::NotText(field))?;
                // Headers of one name may be joined on the way, as Envoy does. Only a cohort key may be anything.
                if field != Field::CohortKey && value.contains(',') {
                    return Err(Unclear::Twice(field));
                }
                layer.set(field, value)?;
            }
        }
        Ok(layer)
    }

    fn is_silent(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }
}

// === impl Believed ===

impl Believed {
    fn read(text: &str) -> Result<Self, Unclear> {
        match text.trim() {
            "all" => Ok(Self::All),
            "none" | "" => Ok(Self::Only(Vec::new())),
            names => names.split(',').map(|name| Field::named(name.trim())).collect::<Result<_, _>>().map(Self::Only),
        }
    }

    fn includes(&self, field: Field) -> bool {
        match self {
            Self::All => true,
            Self::Only(fields) => fields.contains(&field),
        }
    }
}

/// The question: configured layers from the most to the least trusted one, then headers.
pub(crate) fn question(configured: Vec<Layer>, heard: Vec<Heard>) -> Result<CheckAdmissionRequest, Unclear> {
    let setting = configured.iter().find_map(|layer| layer.believed.clone());
    let by_default =
        || if configured.iter().all(Layer::is_silent) { Believed::All } else { Believed::Only(Vec::new()) };
    let headers = Layer::of_headers(&setting.unwrap_or_else(by_default), heard)?;
    let mut layers = configured;
    layers.push(headers);
    let mut take =
        |field: Field| layers.iter_mut().find_map(|layer| layer.values[field as usize].take()).unwrap_or_default();
    Ok(CheckAdmissionRequest {
        agent: take(Field::Agent),
        version: take(Field::Version),
        card_digest: take(Field::CardDigest),
        profile: take(Field::Profile),
        contract_digest: take(Field::ContractDigest),
        producer_digest: take(Field::ProducerDigest),
        consumer: take(Field::Consumer),
        interface: take(Field::Interface),
        cohort_key: take(Field::CohortKey),
        consistency: at_least(&take(Field::AtLeastRevision))?,
    })
}

fn at_least(text: &str) -> Result<Option<Consistency>, Unclear> {
    if text.is_empty() {
        return Ok(None);
    }
    let revision = text.parse().map_err(|_| Unclear::Revision)?;
    Ok(Some(Consistency { requirement: Some(Requirement::AtLeastAsFresh(RevisionToken { revision })) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(words: &[(&str, &str)]) -> Layer {
        let mut layer = Layer::default();
        for (name, value) in words {
            layer.say(name, value).expect("a field");
        }
        layer
    }

    fn heard(words: &[(Field, &str)]) -> Vec<Heard> {
        words.iter().map(|(field, value)| (*field, Some((*value).to_owned()))).collect()
    }

    #[test]
    fn everything_may_come_from_headers_when_nothing_is_configured() {
        let all: Vec<_> = Field::ALL
            .into_iter()
            .map(|field| (field, if field == Field::AtLeastRevision { "7" } else { field.as_str() }))
            .collect();
        let asked = question(vec![Layer::default()], heard(&all)).expect("clear");
        let told = [&asked.agent, &asked.version, &asked.card_digest, &asked.profile, &asked.contract_digest];
        assert_eq!(told.map(String::as_str), ["agent", "version", "card-digest", "profile", "contract-digest"]);
        let told = [&asked.producer_digest, &asked.consumer, &asked.interface, &asked.cohort_key];
        assert_eq!(told.map(String::as_str), ["producer-digest", "consumer", "interface", "cohort-key"]);
        let wanted = Requirement::AtLeastAsFresh(RevisionToken { revision: 7 });
        assert_eq!(asked.consistency.and_then(|c| c.requirement), Some(wanted));
    }

    #[test]
    fn a_header_never_overrides_what_is_configured() {
        for headers in ["none", "all", "version", "consumer"] {
            let configured = layer(&[("agent", "acme/a"), ("version", "1"), ("consumer", ""), ("headers", headers)]);
            let liar = heard(&[(Field::Agent, "acme/b"), (Field::Version, "2"), (Field::Consumer, "friend")]);
            let asked = question(vec![configured], liar).expect("clear");
            assert_eq!((asked.agent.as_str(), asked.version.as_str(), asked.consumer.as_str()), ("acme/a", "1", ""));
        }
    }

    #[test]
    fn once_anything_is_configured_headers_are_believed_where_named_only() {
        let said = || heard(&[(Field::Consumer, "friend"), (Field::CohortKey, "c")]);
        let asked = question(vec![layer(&[("agent", "acme/a")])], said()).expect("clear");
        assert_eq!((asked.consumer.as_str(), asked.cohort_key.as_str()), ("", ""));
        let named = layer(&[("agent", "acme/a"), ("headers", "cohort-key, at-least-revision")]);
        let asked = question(vec![named], said()).expect("clear");
        assert_eq!((asked.consumer.as_str(), asked.cohort_key.as_str()), ("", "c"));
    }

    #[test]
    fn the_more_trusted_layer_wins() {
        let layers = vec![layer(&[("version", "1")]), layer(&[("version", "2"), ("profile", "p")])];
        let asked = question(layers, Vec::new()).expect("clear");
        assert_eq!((asked.version.as_str(), asked.profile.as_str()), ("1", "p"));
    }

    #[test]
    fn what_is_ambiguous_is_no_question() {
        let twice = heard(&[(Field::Consumer, "a"), (Field::Consumer, "b")]);
        assert_eq!(question(Vec::new(), twice), Err(Unclear::Twice(Field::Consumer)));
        let joined = heard(&[(Field::Consumer, "a,b")]);
        assert_eq!(question(Vec::new(), joined), Err(Unclear::Twice(Field::Consumer)), "as Envoy joins two headers");
        assert_eq!(question(vec![layer(&[("consumer", "a,b")])], Vec::new()).expect("clear").consumer, "a,b");
        assert_eq!(question(Vec::new(), heard(&[(Field::CohortKey, "a,b")])).expect("clear").cohort_key, "a,b");
        assert_eq!(question(Vec::new(), vec![(Field::Agent, None)]), Err(Unclear::NotText(Field::Agent)));
        assert_eq!(question(Vec::new(), heard(&[(Field::AtLeastRevision, "new")])), Err(Unclear::Revision));
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(question(Vec::new(), heard(&[(Field::CohortKey, &long)])), Err(Unclear::TooLong(Field::CohortKey)));
        assert_eq!(Layer::default().say("card_digest", "x"), Err(Unclear::Unknown("card_digest".to_owned())));
        let mut configured = layer(&[("agent", "a"), ("headers", "none")]);
        assert_eq!(configured.say("agent", "a"), Err(Unclear::Twice(Field::Agent)));
        assert_eq!(configured.say("headers", "all"), Err(Unclear::HeadersTwice));
        assert_eq!(Layer::default().say("headers", "consumr"), Err(Unclear::Unknown("consumr".to_owned())));
    }

    #[test]
    fn a_header_that_is_not_believed_cannot_spoil_the_question() {
        let twice = vec![(Field::Consumer, None), (Field::Consumer, None)];
        let asked = question(vec![layer(&[("agent", "acme/a")])], twice).expect("clear");
        assert_eq!(asked.agent, "acme/a");
    }

    #[test]
    fn names_are_those_of_the_headers() {
        for field in Field::ALL {
            assert_eq!(field.header().strip_prefix("x-ostiary-"), Some(field.as_str()));
            assert_eq!(Field::ALL[field as usize], field);
        }
    }
}
