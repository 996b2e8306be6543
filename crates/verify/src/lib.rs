//! ostiary-verify
