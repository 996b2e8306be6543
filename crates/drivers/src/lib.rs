//! ostiary-drivers
