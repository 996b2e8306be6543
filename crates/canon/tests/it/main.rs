//! Tests of the canonical form, strict JSON and signed statements, through the public interface.

#[cfg(test)]
mod names;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod rfc8785;
#[cfg(test)]
mod statements;
#[cfg(test)]
mod strict_json;
