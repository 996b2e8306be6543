//! ostiary-worker
