//! Tests of the decision and the index, through the public interface.

#[cfg(test)]
mod cost;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod index;
#[cfg(test)]
mod modes;
#[cfg(test)]
mod monotone;
#[cfg(test)]
mod reuse;
#[cfg(test)]
mod scopes;
#[cfg(test)]
mod table;
