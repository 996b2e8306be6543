//! ostiary-admission
