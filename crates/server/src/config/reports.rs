//! How long what routers told is kept.

use jiff::SignedDuration;
use serde::Deserialize;

use super::ConfigProblem;

/// Retention of what routers told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReportsConfig {
    /// How long drift reports are kept, in days. What they led to stays in the audit for good.
    pub drift_days: u32,
    /// How long sums of outcomes are kept, in days.
    pub outcome_days: u32,
}

/// Longest retention: ten years.
const MOST_DAYS: u32 = 3_660;

// === impl ReportsConfig ===

impl ReportsConfig {
    /// How long drift reports are kept.
    #[must_use]
    pub const fn drift(&self) -> SignedDuration {
        days(self.drift_days)
    }

    /// How long sums of outcomes are kept.
    #[must_use]
    pub const fn outcomes(&self) -> SignedDuration {
        days(self.outcome_days)
    }

    pub(super) fn validate(&self) -> Vec<ConfigProblem> {
        let settings = [("drift_days", self.drift_days), ("outcome_days", self.outcome_days)];
        let wrong = settings.into_iter().filter(|(_, days)| !(1..=MOST_DAYS).contains(days));
        wrong
            .map(|(name, days)| {
                ConfigProblem::of(format!("`reports.{name}` is {days}"), format!("give 1 to {MOST_DAYS} days"))
            })
            .collect()
    }
}

impl Default for ReportsConfig {
    /// Longer than evidence lives, so that a renewal can look back; sums of a month.
    fn default() -> Self {
        Self { drift_days: 90, outcome_days: 30 }
    }
}

const fn days(days: u32) -> SignedDuration {
    SignedDuration::from_hours(24 * days as i64)
}
