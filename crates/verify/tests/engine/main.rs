//! The engine on scenarios and checks of its own: planning, driving, judging, reporting.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod cases;
mod drive;
mod judge;
mod plan;
mod stored;
mod support;
