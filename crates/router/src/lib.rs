//! What a router embeds: a verified, never older copy of what is admitted, and a local decision that fails closed.
//!
//! Must not know how the control plane stores or judges anything. Start with `Router`.
