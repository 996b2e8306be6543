//! ostiary-lab
