//! Verification: scenarios drive a candidate and record, checks judge recordings.
//!
//! Discover → plan → drive → judge. Driving never judges and judging never drives: a stored run is judged again by a
//! newer harness without a call. Must not know sockets, clocks, files or processes: all that comes through the ports of
//! `record`. Start with [`scenario::Scenario`] and [`check::Check`], then [`plan::plan`] and [`judge()`].

pub mod catalogue_page;
pub mod check;
pub mod coverage;
pub mod discover;
pub mod drive;
pub mod facts;
pub mod judge;
pub mod mcp;
pub mod output;
pub mod plan;
pub mod recording_file;
pub mod registry;
pub mod report;
pub mod scenario;
pub mod stage;
pub mod statement;

mod answers;
mod authorization;
mod callbacks;
mod cancels;
mod cases;
mod contract_view;
mod declaration;
mod meter;
mod negatives;
mod outputs;
mod protocol;
mod refusal;
mod scenarios;
mod schema;
mod schema_cost;
mod schema_detail;
mod slots;
mod story;
mod temporal;
#[cfg(test)]
mod testing;

pub use check::{Check, CheckSpec, Input, Reads};
pub use declaration::alone::{CardLint, format_of};
pub use drive::{Allowance, Ports, Request, drive};
pub use facts::{Facts, Tape};
pub use judge::{JudgeOptions, judge, judge_check};
pub use plan::{Plan, PlanInput, plan};
pub use registry::{HARNESS_VERSION, Harness};
pub use scenario::{Control, DISCOVER, Isolation, Role, Scenario, ScenarioSpec};
pub use stage::{Exchange, Stage};
