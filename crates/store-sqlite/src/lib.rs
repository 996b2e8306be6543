//! ostiary-store-sqlite
