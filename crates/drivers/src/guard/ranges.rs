//! The special-purpose address ranges (IANA registries of RFC 6890 and successors), and what clouds put on top.

use std::{net::IpAddr, sync::LazyLock};

use ipnet::IpNet;

/// One range that is not the public internet.
pub(super) struct Range {
    net: IpNet,
    /// The range as written below.
    pub(super) text: &'static str,
    /// What it is, in words.
    pub(super) what: &'static str,
    /// Whether an operator's general permission for private addresses covers it.
    pub(super) private: bool,
}

/// Range, words, private. Searched in order: metadata services that sit inside private ranges come first.
const TABLE: &[(&str, &str, bool)] = &[
    ("168.63.129.16/32", "a cloud's host agent", false),
    ("100.100.100.200/32", "a cloud's metadata service", false),
    ("fd00:ec2::/32", "a cloud's metadata service", false),
    ("fd20:ce::254/128", "a cloud's metadata service", false),
    ("0.0.0.0/8", "unspecified", false),
    ("10.0.0.0/8", "private", true),
    ("100.64.0.0/10", "shared by carriers", true),
    ("127.0.0.0/8", "loopback", true),
    ("169.254.0.0/16", "link-local, where clouds keep metadata", false),
    ("172.16.0.0/12", "private", true),
    ("192.0.0.0/24", "reserved for protocols", false),
    ("192.0.2.0/24", "for documentation", false),
    ("192.88.99.0/24", "6to4 relay", false),
    ("192.168.0.0/16", "private", true),
    ("198.18.0.0/15", "for benchmarks", false),
    ("198.51.100.0/24", "for documentation", false),
    ("203.0.113.0/24", "for documentation", false),
    ("224.0.0.0/4", "multicast", false),
    ("240.0.0.0/4", "reserved or broadcast", false),
    ("::/128", "unspecified", false),
    ("::1/128", "loopback", true),
    ("::ffff:0:0/96", "IPv4 in IPv6 clothes", false),
    ("::/96", "IPv4 in IPv6 clothes", false),
    ("64:ff9b::/96", "IPv4 behind NAT64", false),
    ("64:ff9b:1::/48", "IPv4 behind NAT64", false),
    ("fc00::/7", "unique local", true),
    ("fe80::/10", "link-local", false),
    ("fec0::/10", "site-local", false),
    ("ff00::/8", "multicast", false),
    ("2001::/23", "reserved for protocols, Teredo among them", false),
    ("2001:db8::/32", "for documentation", false),
    ("2002::/16", "6to4", false),
    ("3fff::/20", "for documentation", false),
    // What is not global unicast (2000::/3) has no business here, named above or not.
    ("::/3", "not global unicast", false),
    ("4000::/2", "not global unicast", false),
    ("8000::/1", "not global unicast", false),
];

static RANGES: LazyLock<Vec<Range>> = LazyLock::new(|| {
    let parse = |text: &str| text.parse().expect("every range of the table is written as CIDR; a test reads them all");
    TABLE.iter().map(|&(text, what, private)| Range { net: parse(text), text, what, private }).collect()
});

/// The first special range that holds the address; `None` = public.
pub(super) fn lookup(address: IpAddr) -> Option<&'static Range> {
    RANGES.iter().find(|range| range.net.contains(&address))
}
