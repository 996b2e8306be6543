//! ostiary-contract
