//! Judges a run: pure, total, and the same run always gives the same report, byte for byte.

use std::collections::BTreeSet;

use ostiary_record::Layer;

/// How to judge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgeOptions {
    /// The layers asked for; `None` = those that the run's gate requires.
    pub layers: Option<BTreeSet<Layer>>,
    /// Only these checks; empty = all of the gate.
    pub only: Vec<String>,
    /// Extensions that the consumer supports (C-08).
    pub consumer_extensions: Vec<String>,
}
