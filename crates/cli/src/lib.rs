//! ostiary-cli
