//! ostiary-compat
