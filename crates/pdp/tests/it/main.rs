//! A decision point over loopback, watched by routers of the tests' own.

#[cfg(test)]
mod copy;
#[cfg(test)]
mod heads;
#[cfg(test)]
mod host;
#[cfg(test)]
mod model;
#[cfg(test)]
mod proof;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod rights;
#[cfg(test)]
mod watch;
#[cfg(test)]
mod world;
