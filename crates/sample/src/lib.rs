//! ostiary-sample
