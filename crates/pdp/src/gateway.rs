//! What gateways ask and how they are answered, whatever they speak: [`question`] puts a question together from what
//! the operator configured and what came with the request, [`answer`] says a decision in HTTP.

pub(crate) mod answer;
#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod question;
