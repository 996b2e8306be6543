//! The guard on addresses: what a stranger's URL may make us dial.
//!
//! Cards, redirects and webhooks hold URLs that somebody else wrote. The guard looks at the address after name
//! resolution, and the very address that it let through is dialled, so that a name cannot answer twice differently.

mod ranges;

use std::{collections::BTreeSet, net::IpAddr};

use self::ranges::{Range, lookup};
use crate::settings::{Authority, AuthorityError};

/// Which addresses may be dialled. The default lets only public ones through.
#[derive(Clone, Debug, Default)]
pub struct AddressGuard {
    scope: Scope,
    exempt: BTreeSet<Authority>,
}

/// Why an address is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address} is {what} ({range})")]
pub struct Refusal {
    /// The address.
    pub address: IpAddr,
    /// What kind of address it is, in words.
    pub what: &'static str,
    /// The range that says so.
    pub range: &'static str,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Scope {
    #[default]
    Public,
    Private,
    Everything,
}

// === impl AddressGuard ===

impl AddressGuard {
    /// Public addresses only.
    #[must_use]
    pub fn public_only() -> Self {
        Self::default()
    }

    /// No guard at all: for calls to addresses that the person at the keyboard wrote, such as `--server`.
    #[must_use]
    pub fn off() -> Self {
        Self { scope: Scope::Everything, ..Self::default() }
    }

    /// Lets loopback, private, shared and unique-local addresses through as well; never link-local ones, where clouds
    /// keep their metadata.
    #[must_use]
    pub fn allow_private(mut self) -> Self {
        if self.scope == Scope::Public {
            self.scope = Scope::Private;
        }
        self
    }

    /// Exempts one `host:port` exactly as a URL names it, whatever address it has.
    ///
    /// # Errors
    /// When the text is not `host:port`.
    pub fn exempt(mut self, authority: &str) -> Result<Self, AuthorityError> {
        self.exempt.insert(authority.parse()?);
        Ok(self)
    }

    /// Judges an address that `authority` resolved to.
    ///
    /// # Errors
    /// When it must not be dialled.
    pub fn check(&self, authority: &Authority, address: IpAddr) -> Result<(), Refusal> {
        let Some(Range { what, text, private, .. }) = lookup(address) else {
            return Ok(());
        };
        let allowed = match self.scope {
            Scope::Everything => true,
            Scope::Private => *private,
            Scope::Public => false,
        };
        if allowed || self.exempt.contains(authority) {
            return Ok(());
        }
        Err(Refusal { address, what, range: text })
    }

    /// The guard for a place that a public server pointed us to: a general permission for private addresses does not
    /// reach that far, an exemption by name does.
    pub(crate) fn seen_from_public(&self) -> Self {
        let scope = if self.scope == Scope::Private { Scope::Public } else { self.scope };
        Self { scope, exempt: self.exempt.clone() }
    }
}

/// Whether an address is a public one.
pub(crate) fn is_public(address: IpAddr) -> bool {
    lookup(address).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(guard: &AddressGuard, address: &str) -> bool {
        guard.check(&Authority::new("agent.example", 443), address.parse().unwrap()).is_err()
    }

    const INNER: [&str; 9] = [
        "127.0.0.1",
        "127.255.255.254",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "::1",
        "fd12:3456::1",
    ];
    const NEVER: [&str; 26] = [
        "0.0.0.0",
        "0.1.2.3",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.9",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "2001::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "fd00:ec2::254",
    ];
    const OUTER: [&str; 8] = [
        "8.8.8.8",
        "1.1.1.1",
        "172.15.255.255",
        "172.32.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "2606:4700:4700::1111",
        "2a00:1450::1",
    ];

    #[test]
    fn only_public_addresses_pass_by_default() {
        let guard = AddressGuard::public_only();
        assert!(INNER.iter().chain(&NEVER).all(|a| refused(&guard, a)));
        assert!(OUTER.iter().all(|a| !refused(&guard, a)));
    }

    #[test]
    fn private_permission_opens_inner_addresses_and_no_metadata() {
        let guard = AddressGuard::public_only().allow_private();
        for address in INNER {
            assert!(!refused(&guard, address), "{address}");
        }
        for address in NEVER {
            assert!(refused(&guard, address), "{address}");
        }
    }

    #[test]
    fn an_exemption_is_for_one_host_and_port() {
        let guard = AddressGuard::public_only().exempt("127.0.0.1:9100").unwrap();
        let loopback = "127.0.0.1".parse().unwrap();
        assert!(guard.check(&Authority::new("127.0.0.1", 9100), loopback).is_ok());
        assert!(guard.check(&Authority::new("127.0.0.1", 9101), loopback).is_err());
        assert!(guard.check(&Authority::new("localhost", 9100), loopback).is_err());
    }

    #[test]
    fn a_pointer_from_outside_does_not_inherit_the_permission() {
        let guard = AddressGuard::public_only().allow_private().exempt("10.0.0.5:80").unwrap().seen_from_public();
        assert!(refused(&guard, "10.0.0.5"));
        assert!(guard.check(&Authority::new("10.0.0.5", 80), "10.0.0.5".parse().unwrap()).is_ok());
    }

    #[test]
    fn a_refusal_says_which_address_and_why() {
        let refusal = AddressGuard::public_only()
            .check(&Authority::new("agent.example", 443), "169.254.169.254".parse().unwrap())
            .unwrap_err();
        assert_eq!(refusal.to_string(), "169.254.169.254 is link-local, where clouds keep metadata (169.254.0.0/16)");
    }
}
