//! The whole server in one process: real SQLite file, real listeners, real signatures; a clock that the test moves and
//! a candidate that says what the test wants.

mod admission;
mod app;
mod bad_input;
mod candidate;
mod declarations;
mod drift;
mod evidence;
mod explain;
mod failpoints;
mod forward_auth;
mod gates;
mod jobs;
mod killed;
mod openapi;
mod outcomes;
mod proof;
mod rights;
mod router;
mod snapshot;
mod summary;
mod waivers;
mod webhooks;
