//! Tests of the decision, the index and what is sent and signed, through the public interface.

#[cfg(test)]
mod cost;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod generate;
#[cfg(test)]
mod head;
#[cfg(test)]
mod index;
#[cfg(test)]
mod lowers;
#[cfg(test)]
mod modes;
#[cfg(test)]
mod monotone;
#[cfg(test)]
mod resolve;
#[cfg(test)]
mod reuse;
#[cfg(test)]
mod scopes;
#[cfg(test)]
mod table;
#[cfg(test)]
mod tree;
#[cfg(test)]
mod vector;
#[cfg(test)]
mod wire;
