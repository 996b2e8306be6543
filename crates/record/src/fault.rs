//! Disturbances as data: what a proxy of the laboratory does to the exchanges that pass through it, and what it says it did.
//!
//! Pure: a plan, the number of an exchange and a seed decide; no clock and no randomness of the moment is asked.

use serde::{Deserialize, Serialize};

use crate::event::MonoNanos;

/// What is done to which exchanges. The same plan does the same things to the same exchanges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultPlan {
    /// Where drawn times and chances start from.
    #[serde(default)]
    pub seed: u64,
    /// All rules that match an exchange hold for it.
    pub rules: Vec<FaultRule>,
}

/// Faults for the exchanges that match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultRule {
    /// Which of the matching exchanges.
    #[serde(default)]
    pub when: When,
    /// Only exchanges of this operation (`SendMessage`) or request path (`/rpc`); `None` = all. Where bytes pass unread,
    /// nothing has a name, and a rule with one matches nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// What is done to them.
    pub faults: Vec<Fault>,
}

/// Which exchanges, counted from 1 among those that the rule's `on` lets through since the plan was switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Each one.
    #[default]
    Always,
    /// This one and all after it.
    From(u64),
    /// The first so many.
    First(u64),
    /// This one alone.
    Only(u64),
    /// Each n-th.
    Every(u64),
    /// So many in a hundred, drawn by the seed.
    Percent(u8),
}

/// One disturbance. What delays adds up; of what ends an exchange the earliest holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fault {
    /// The answer begins so much later.
    Latency {
        /// How much.
        millis: u64,
    },
    /// Each piece of the answer comes later by a time drawn from zero to this.
    Jitter {
        /// The longest.
        up_to_millis: u64,
    },
    /// The answer comes no faster than this.
    Bandwidth {
        /// The rate; zero counts as one.
        bytes_per_second: u64,
    },
    /// The connection is reset.
    Reset {
        /// When.
        at: Point,
    },
    /// Our sending half is closed, in the middle of what was promised; the receiving half stays open.
    HalfClose {
        /// When.
        at: Point,
    },
    /// The connection is closed in good order, in the middle of what was promised: a partial body.
    Partial {
        /// When.
        at: Point,
    },
    /// Nothing comes any more and the connection stays.
    Stall {
        /// When.
        at: Point,
    },
    /// Who stands behind is down: nothing reaches it.
    Down {
        /// What a caller notices.
        how: Down,
    },
}

/// When an exchange is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// Before the request is passed on: who stands behind never sees it.
    BeforeRequest,
    /// When so many bytes of the answer have passed (of its body, where HTTP is spoken): the request was served.
    AfterBytes(u64),
}

/// How a dependency is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Down {
    /// Connections are refused. Where it holds for each exchange the port is closed; where it holds for some, the
    /// connection is reset as soon as it is told that it is one of them.
    Refuse,
    /// Connections are taken and nothing is ever said.
    BlackHole,
}

/// What was done to one exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbed {
    /// Place in the ledger, from 0.
    pub n: u64,
    /// When it was done, on the run's clock.
    pub at: MonoNanos,
    /// The exchange, as the proxy counts requests (HTTP) or connections (bytes) from 1.
    pub exchange: u64,
    /// What it was: `POST /rpc SendMessage`, `connection`.
    pub what: String,
    /// What was done.
    pub fault: Fault,
    /// Whether the request had been passed on: then it may have had its effect.
    pub reached: bool,
    /// Bytes of the answer that had passed when it was done.
    pub passed_bytes: u64,
    /// How much later the answer came by this fault so far.
    pub waited_millis: u64,
}

/// Drawn numbers that follow from a seed (SplitMix64 of Steele, Lea and Flood, 2014): good enough to spread times, no secret.
#[derive(Clone, Debug)]
pub struct Draw(u64);

// === impl FaultPlan ===

impl FaultPlan {
    /// The same fault for each exchange.
    #[must_use]
    pub fn always(fault: Fault) -> Self {
        Self::when(When::Always, fault)
    }

    /// A fault for some exchanges.
    #[must_use]
    pub fn when(when: When, fault: Fault) -> Self {
        Self { seed: 0, rules: vec![FaultRule { when, on: None, faults: vec![fault] }] }
    }

    /// The plan for exchanges of one operation or path only.
    #[must_use]
    pub fn on(mut self, name: &str) -> Self {
        self.rules.iter_mut().for_each(|rule| rule.on = Some(name.to_owned()));
        self
    }

    /// The plan with another seed.
    #[must_use]
    pub const fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Whether nobody can connect at all: what stands behind is refused for each exchange.
    #[must_use]
    pub fn closes_port(&self) -> bool {
        let refuses = |rule: &FaultRule| rule.faults.contains(&Fault::Down { how: Down::Refuse });
        self.rules.iter().any(|rule| rule.on.is_none() && rule.when == When::Always && refuses(rule))
    }
}

// === impl FaultRule ===

impl FaultRule {
    /// Whether it speaks of an exchange with these names.
    #[must_use]
    pub fn speaks_of(&self, names: &[&str]) -> bool {
        self.on.as_deref().is_none_or(|on| names.contains(&on))
    }
}

// === impl When ===

impl When {
    /// Whether it holds for the n-th matching exchange, from 1.
    #[must_use]
    pub fn holds(self, n: u64, draw: &mut Draw) -> bool {
        match self {
            Self::Always => true,
            Self::From(first) => n >= first,
            Self::First(last) => n <= last,
            Self::Only(one) => n == one,
            Self::Every(step) => step > 0 && n.is_multiple_of(step),
            Self::Percent(percent) => draw.below(100) < u64::from(percent),
        }
    }
}

// === impl Fault ===

impl Fault {
    /// Its name in ledgers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency { .. } => "latency",
            Self::Jitter { .. } => "jitter",
            Self::Bandwidth { .. } => "bandwidth",
            Self::Reset { .. } => "reset",
            Self::HalfClose { .. } => "half_close",
            Self::Partial { .. } => "partial",
            Self::Stall { .. } => "stall",
            Self::Down { .. } => "down",
        }
    }

    /// The word of `environment.yaml` (`faults`) that permits it.
    #[must_use]
    pub const fn permitted_by(self) -> &'static str {
        match self {
            Self::Latency { .. } | Self::Jitter { .. } | Self::Bandwidth { .. } => "latency",
            Self::Reset { .. } | Self::HalfClose { .. } => "reset",
            Self::Partial { .. } | Self::Stall { .. } => "partial_response",
            Self::Down { .. } => "dependency_down",
        }
    }

    /// When it ends the exchange; `None` = it only delays.
    #[must_use]
    pub const fn ends_at(self) -> Option<Point> {
        match self {
            Self::Latency { .. } | Self::Jitter { .. } | Self::Bandwidth { .. } => None,
            Self::Reset { at } | Self::HalfClose { at } | Self::Partial { at } | Self::Stall { at } => Some(at),
            Self::Down { .. } => Some(Point::BeforeRequest),
        }
    }
}

// === impl Draw ===

impl Draw {
    /// Numbers of one exchange: they do not depend on what happens to others at the same time.
    #[must_use]
    pub const fn new(seed: u64, exchange: u64) -> Self {
        Self(seed ^ exchange.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// A number from 0 to `end`, without `end`; 0 where `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        // The high half of the product: no bias worth naming for the small ends used here.
        u64::try_from((u128::from(z) * u128::from(end)) >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_what_its_text_says() {
        let text = r#"{"seed":7,"rules":[{"when":{"only":2},"on":"SendMessage","faults":[
            {"kind":"latency","millis":20},{"kind":"reset","at":{"after_bytes":10}}]},
            {"faults":[{"kind":"down","how":"refuse"}]}]}"#;
        let plan: FaultPlan = serde_json::from_str(text).unwrap();
        assert_eq!((plan.rules[0].when, plan.rules[1].when), (When::Only(2), When::Always));
        assert_eq!(plan.rules[0].faults[1], Fault::Reset { at: Point::AfterBytes(10) });
        assert!(plan.closes_port());
        assert_eq!(serde_json::from_value::<FaultPlan>(serde_json::to_value(&plan).unwrap()).unwrap(), plan);
    }

    #[test]
    fn each_condition_holds_for_its_exchanges_only() {
        let held = |when: When| (1..=6).filter(|n| when.holds(*n, &mut Draw::new(0, *n))).collect::<Vec<_>>();
        assert_eq!(held(When::Always), [1, 2, 3, 4, 5, 6]);
        assert_eq!(held(When::From(5)), [5, 6]);
        assert_eq!(held(When::First(2)), [1, 2]);
        assert_eq!(held(When::Only(3)), [3]);
        assert_eq!(held(When::Every(3)), [3, 6]);
        assert_eq!(held(When::Every(0)), [0_u64; 0]);
        assert_eq!(held(When::Percent(0)), [0_u64; 0]);
        assert_eq!(held(When::Percent(100)).len(), 6);
    }

    #[test]
    fn chances_follow_from_the_seed_and_are_about_right() {
        let held = |seed: u64| -> Vec<u64> {
            (1..=10_000).filter(|n| When::Percent(30).holds(*n, &mut Draw::new(seed, *n))).collect()
        };
        assert_eq!(held(1), held(1));
        assert_ne!(held(1), held(2));
        assert!((2_700..3_300).contains(&held(1).len()), "{}", held(1).len());
    }

    #[test]
    fn a_rule_with_a_name_leaves_others_alone() {
        let rule = FaultRule { when: When::Always, on: Some("GetTask".to_owned()), faults: vec![] };
        assert!(rule.speaks_of(&["GetTask", "/rpc"]));
        assert!(!rule.speaks_of(&["SendMessage", "/rpc"]));
        assert!(!rule.speaks_of(&[]));
        assert!(!FaultPlan::always(Fault::Down { how: Down::Refuse }).on("GetTask").closes_port());
    }
}
