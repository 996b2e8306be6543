//! ostiary-protocol
