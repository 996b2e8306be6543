//! Scenarios drive and never judge: what the candidate is made to do, as code over a [`Stage`].

use std::time::Duration;

use ostiary_record::{
    Axes, Gate,
    ports::{BoxFuture, CouldNotRun, Limits},
};

use crate::{plan::PlanInput, stage::Stage};

/// The scenario that fetches the declarations; always driven first, read by every static check.
pub const DISCOVER: &str = "discover";

/// What the engine must know of a scenario before it drives it.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioSpec {
    /// Its name: `a2a.task.terminal_message`.
    pub id: &'static str,
    /// Raised when the scenario does something else than before.
    pub version: u32,
    /// One sentence for people.
    pub summary: &'static str,
    /// The first gate that may drive it; below that gate the candidate is not called for it.
    pub gate: Gate,
    /// The positive control without which a refusal proves nothing.
    pub control: Control,
    /// What it may run beside.
    pub isolation: Isolation,
    /// The risk that the environment must clear for it.
    pub clearance: Clearance,
    /// How often each variant is driven, at least once.
    pub repeats: u32,
    /// Bounds on one drive.
    pub budget: Budget,
    /// What must be there.
    pub needs: Needs,
}

/// Where a negative scenario's positive control is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The scenario is no negative one.
    NotNeeded,
    /// The scenario itself first does what must work, and calls [`Stage::control_ok`].
    Within,
    /// Another scenario, driven before for the same profile, calls [`Stage::control_ok`].
    By(&'static str),
}

/// What a scenario may run beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// Beside any other shared scenario.
    Shared,
    /// Alone.
    Exclusive,
    /// Alone and last: what it destroys is not looked at again.
    Destructive,
}

/// The risk of what a scenario makes the candidate do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clearance {
    /// No call of the candidate's business operations.
    None,
    /// Calls that read, or that the candidate must refuse.
    Read,
    /// Calls that write in the fixture tenants.
    Write,
    /// Calls that destroy in the fixture tenants.
    Destructive,
}

/// Bounds on one drive of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Most exchanges.
    pub calls: u32,
    /// Most time.
    pub time: Duration,
}

/// What must be there for a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// A readable card with an activated interface.
    pub card: bool,
    /// Roles that the environment's subjects must be able to play.
    pub roles: &'static [Role],
    /// Provider states that must be set up before.
    pub states: &'static [&'static str],
    /// A receiver of push notifications.
    pub callbacks: bool,
}

/// Whom a scenario speaks as. The plan gives each role to a subject of the environment, per profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// A subject of the profile with a valid credential; nobody, where the card declares no security scheme.
    Primary,
    /// A subject with a valid credential in another tenant.
    OtherTenant,
    /// A subject whose credential has expired.
    Expired,
    /// A subject whose credential somebody else issued.
    Foreign,
    /// Nobody: no credential is sent.
    Anonymous,
}

/// Drives the candidate through one story; never judges.
pub trait Scenario: Send + Sync {
    /// What the engine must know.
    fn spec(&self) -> &'static ScenarioSpec;

    /// The variants to drive, before repetition; none = the declarations give nothing to drive.
    ///
    /// Default: one for each activated profile.
    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        input.each_profile()
    }

    /// Drives one variant.
    ///
    /// # Errors
    /// When the harness could not do its part; what the *candidate* does wrong is recorded, not returned.
    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>>;
}

// === impl ScenarioSpec ===

impl ScenarioSpec {
    /// A scenario of the conformance gate that reads, runs beside others, once, as the profile's own subject.
    #[must_use]
    pub const fn new(id: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            version: 1,
            summary,
            gate: Gate::Conformance,
            control: Control::NotNeeded,
            isolation: Isolation::Shared,
            clearance: Clearance::Read,
            repeats: 1,
            budget: Budget::USUAL,
            needs: Needs::USUAL,
        }
    }
}

// === impl Budget ===

impl Budget {
    /// Enough for a story of a few calls with an agent that thinks: 20 calls, 90 s.
    pub const USUAL: Self = Self { calls: 20, time: Duration::from_secs(90) };

    /// With as much more time as answers may take longer than usual.
    #[must_use]
    pub fn for_answers_of(self, answer: Duration) -> Self {
        let usual = Limits::default().exchange;
        Self { time: self.time + answer.saturating_sub(usual).saturating_mul(3), ..self }
    }
}

// === impl Needs ===

impl Needs {
    /// A card and somebody to call as.
    pub const USUAL: Self = Self { card: true, roles: &[Role::Primary], states: &[], callbacks: false };
}

// === impl Role ===

impl Role {
    /// The role's name in marks and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::OtherTenant => "other_tenant",
            Self::Expired => "expired",
            Self::Foreign => "foreign",
            Self::Anonymous => "anonymous",
        }
    }
}

// === impl Clearance ===

impl Clearance {
    /// The name of the risk in `cleared_effects`; reading is always cleared.
    #[must_use]
    pub const fn needed(self) -> Option<&'static str> {
        match self {
            Self::None | Self::Read => None,
            Self::Write => Some("write"),
            Self::Destructive => Some("destructive"),
        }
    }
}
