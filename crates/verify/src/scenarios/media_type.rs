//! An ordinary message with a part of a media type that no skill takes, and one for a caller that takes no media type
//! that a skill gives.

use ostiary_protocol::{
    MediaType,
    a2a::{Card, Operation},
};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};
use serde_json::{Value, json};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, message},
        example, send, variants,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.message.media_type";
/// The axis that says which side has the undeclared type.
pub(crate) const AXIS: &str = "side";
/// The part that is sent.
pub(crate) const INPUT: &str = "input";
/// The modes that the caller accepts.
pub(crate) const OUTPUT: &str = "output";
/// A media type of the unregistered tree (RFC 6838 §3.4), which no agent declares.
pub(crate) const UNDECLARED: &str = "application/x.ostiary-undeclared";

/// Modes are promises in both directions.
pub(super) struct UndeclaredMediaType;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::By(send::ID),
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "A part of an undeclared media type is sent, and an output of such a type is asked for.")
};

impl Scenario for UndeclaredMediaType {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        let takes_all = input.discovered.card.as_ref().and_then(takes_anything).is_some();
        variants(input, AXIS, if takes_all { &[OUTPUT] } else { &[INPUT, OUTPUT] })
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
            let mut client = Client::open(stage, Role::Primary).await?;
            let mut request = message(stage, &example.parts);
            if stage.axes().values.get(AXIS).is_some_and(|side| side == OUTPUT) {
                request.accepted_output_modes = vec![UNDECLARED.to_owned()];
            } else {
                request.message.parts = vec![json!({"text": "undeclared", "mediaType": UNDECLARED})];
            }
            client.call(stage, Operation::SendMessage(request)).await.map(drop)
        })
    }
}

/// Where a card declares a range that takes any media type, so that none is undeclared.
pub(crate) fn takes_anything(card: &Value) -> Option<String> {
    let undeclared = MediaType::parse(UNDECLARED)?;
    let takes = |modes: &[&str]| modes.iter().filter_map(|m| MediaType::parse(m)).any(|m| m.includes(&undeclared));
    let card = Card::new(card.clone());
    if takes(&card.modes("defaultInputModes")) {
        return Some("/defaultInputModes".to_owned());
    }
    let skill = card.skills().into_iter().find(|s| takes(&s.modes("inputModes").unwrap_or_default()))?;
    Some(format!("{}/inputModes", skill.pointer()))
}
