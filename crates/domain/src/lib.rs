//! ostiary-domain
