//! Which combinations are tried, and which risk each of them covers (O-01 to O-03).
//!
//! [`matrix`](self) builds a [`space::Space`] for each risk; a space has axes and constraints as data; [`covering::cover`] chooses rows of it. Pure: the same contract,
//! card, environment and seed give the same rows, when a run is planned and when it is judged.

pub mod covering;
pub mod space;

pub(crate) mod core;
pub(crate) mod matrix;
pub(crate) mod report;
