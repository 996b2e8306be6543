//! ostiary-server
