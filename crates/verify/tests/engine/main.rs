//! The engine on scenarios and checks of its own: planning, driving, judging, reporting.

mod cases;
mod drive;
mod judge;
mod plan;
mod stored;
mod support;
