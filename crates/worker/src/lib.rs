//! Drives a candidate: takes a run from the Jobs port (or from a local command), builds the laboratory that
//! `environment.yaml` describes, and hands in recordings.
//!
//! Must not know any signing key or any database of ours, and never judges what it recorded. Start with [`local::LocalRun`], then
//! [`jobs::Jobs`].

pub mod bundle_dir;
pub mod clock;
pub mod jobs;
pub mod local;
