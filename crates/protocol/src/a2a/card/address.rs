//! Whether the URL of an interface can work for anybody but the machine that printed it (C-02).
//!
//! Told from the text alone, nothing is resolved. Names under `.test` and `.example` are let through: a laboratory may
//! resolve them, and nobody prints them by accident.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::a2a::binding::Binding;

/// What is wrong with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressProblem {
    /// Not absolute: nobody knows the host.
    NotAbsolute,
    /// Braces, angle brackets or `$` wait for a value that nobody filled in.
    Template,
    /// A host that documentation uses: `example.com`, `your-domain.com`.
    Placeholder,
    /// The machine itself.
    Loopback,
    /// The address to listen on, which is none to call.
    ListenAll,
    /// Only on the same link: 169.254.0.0/16, fe80::/10, `.local`, the metadata service of a cloud.
    LinkLocal,
    /// Multicast, broadcast, documentation or reserved ranges, names under `.invalid`, port 0.
    NoHost,
    /// A name without a dot, of a container engine or of a cluster: known to its own network only.
    LocalName,
    /// An address or name of private networks: fine inside one, lost outside.
    Private,
    /// A name and password in the URL, published with the card.
    Credentials,
    /// A fragment, which is never sent.
    Fragment,
}

/// How far an address problem goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressWeight {
    /// It works nowhere.
    Never,
    /// It works on one machine or in one laboratory: good enough while developing.
    Here,
    /// It works, and is worth a look.
    Doubtful,
}

/// An address that parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    url: Url,
}

/// Hosts that documentation prints for the reader to replace.
const PLACEHOLDERS: &[&str] = &[
    "changeme",
    "my-domain",
    "mydomain",
    "placeholder",
    "replace-me",
    "your-agent",
    "your-agent-domain",
    "your-app",
    "your-company",
    "your-domain",
    "your-host",
    "your-org",
    "your-project",
    "your-server",
    "your-service",
    "yourcompany",
    "yourdomain",
    "yourhost",
    "yourserver",
];

// === impl Address ===

impl Address {
    /// Reads the URL of an interface. gRPC interfaces also write `host:port` and `dns:///host:port`.
    #[must_use]
    pub fn parse(text: &str, binding: Option<&Binding>) -> Option<Self> {
        if read_in_two_ways(text) {
            return None;
        }
        let bare = (binding == Some(&Binding::Grpc)).then(|| text.strip_prefix("dns:///").unwrap_or(text));
        if let Some(bare) = bare.filter(|bare| !bare.contains("://") && has_port(bare)) {
            return Url::parse(&format!("https://{bare}")).ok().map(|url| Self { url });
        }
        let url = Url::parse(text).ok()?;
        let written = text.split_once("://").is_some_and(|(_, rest)| !rest.starts_with(['/', '?', '#']));
        (written && url.has_host()).then_some(Self { url })
    }

    /// The host in lower case, without a final dot.
    #[must_use]
    pub fn host(&self) -> String {
        self.url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase()
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// The URL in the form to compare: without a slash at its end.
    #[must_use]
    pub fn normal(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    fn problem_of_host(&self) -> Option<AddressProblem> {
        if self.url.port() == Some(0) {
            return Some(AddressProblem::NoHost);
        }
        match self.url.host()? {
            Host::Ipv4(ip) => of_v4(ip),
            Host::Ipv6(ip) => of_v6(ip),
            Host::Domain(_) => of_name(&self.host()),
        }
    }
}

// === impl AddressProblem ===

impl AddressProblem {
    /// Its name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotAbsolute => "not_absolute",
            Self::Template => "template",
            Self::Placeholder => "placeholder",
            Self::Loopback => "loopback",
            Self::ListenAll => "listen_all",
            Self::LinkLocal => "link_local",
            Self::NoHost => "no_host",
            Self::LocalName => "local_name",
            Self::Private => "private_address",
            Self::Credentials => "credentials",
            Self::Fragment => "fragment",
        }
    }

    /// What to say about it.
    #[must_use]
    pub const fn what(self) -> &'static str {
        match self {
            Self::NotAbsolute => "no absolute URL with a host",
            Self::Template => "a template that nobody filled in",
            Self::Placeholder => "a placeholder of documentation",
            Self::Loopback => "the machine itself, whoever reads it",
            Self::ListenAll => "an address to listen on, none to call",
            Self::LinkLocal => "reachable on its own link only",
            Self::NoHost => "an address, name or port that belongs to no host",
            Self::LocalName => "the name of a container or machine, known to its own network only",
            Self::Private => "an address or name of private networks",
            Self::Credentials => "user name or password in a public document",
            Self::Fragment => "a fragment, which is never sent",
        }
    }

    /// How far it goes.
    #[must_use]
    pub const fn weight(self) -> AddressWeight {
        match self {
            Self::NotAbsolute | Self::Template | Self::NoHost | Self::Credentials => AddressWeight::Never,
            Self::Placeholder | Self::Loopback | Self::ListenAll | Self::LinkLocal | Self::LocalName => {
                AddressWeight::Here
            }
            Self::Private | Self::Fragment => AddressWeight::Doubtful,
        }
    }
}

/// All that is wrong with the URL of an interface.
#[must_use]
pub fn address_problems(text: &str, binding: Option<&Binding>) -> Vec<AddressProblem> {
    if text.contains(['{', '}', '<', '>']) || text.contains("$(") || text.contains("%7B") {
        return vec![AddressProblem::Template];
    }
    let Some(address) = Address::parse(text, binding) else { return vec![AddressProblem::NotAbsolute] };
    let mut out: Vec<AddressProblem> = address.problem_of_host().into_iter().collect();
    if !address.url.username().is_empty() || address.url.password().is_some() {
        out.push(AddressProblem::Credentials);
    }
    if address.url.fragment().is_some() {
        out.push(AddressProblem::Fragment);
    }
    out
}

/// Control characters and spaces are dropped by browsers' readers and refused by others; a backslash is a slash to some
/// and a part of the user's name to others, so that two callers would reach two hosts.
fn read_in_two_ways(text: &str) -> bool {
    text.contains('\\') || text.chars().any(|c| c.is_control() || c.is_whitespace())
}

fn has_port(text: &str) -> bool {
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()));
    matches!(port, Some((host, Ok(1..))) if !host.is_empty())
}

fn of_v4(ip: Ipv4Addr) -> Option<AddressProblem> {
    let shared = ip.octets()[0] == 100 && (64..128).contains(&ip.octets()[1]);
    match ip {
        _ if ip.octets()[0] == 0 => Some(AddressProblem::ListenAll),
        _ if ip.is_loopback() => Some(AddressProblem::Loopback),
        _ if ip.is_link_local() => Some(AddressProblem::LinkLocal),
        _ if ip.is_multicast() || ip.is_broadcast() || ip.is_documentation() || ip.octets()[0] >= 240 => {
            Some(AddressProblem::NoHost)
        }
        _ if ip.is_private() || shared => Some(AddressProblem::Private),
        _ => None,
    }
}

fn of_v6(ip: Ipv6Addr) -> Option<AddressProblem> {
    if let IpAddr::V4(mapped) = ip.to_canonical() {
        return of_v4(mapped);
    }
    // 64:ff9b::/96 holds the address of IPv4 that the translator calls (RFC 6052)
    if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = ip.segments() {
        return of_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    }
    match ip {
        _ if ip.is_unspecified() => Some(AddressProblem::ListenAll),
        _ if ip.is_loopback() => Some(AddressProblem::Loopback),
        _ if ip.is_unicast_link_local() => Some(AddressProblem::LinkLocal),
        // 2001:db8::/32 is for documentation (RFC 3849)
        _ if ip.is_multicast() || ip.segments()[..2] == [0x2001, 0x0db8] => Some(AddressProblem::NoHost),
        _ if ip.is_unique_local() => Some(AddressProblem::Private),
        _ => None,
    }
}

fn of_name(host: &str) -> Option<AddressProblem> {
    let labels: Vec<&str> = host.split('.').collect();
    let ends = |name: &str| host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    if ends("localhost") {
        return Some(AddressProblem::Loopback);
    }
    if labels.iter().any(|label| PLACEHOLDERS.contains(label))
        || ["example.com", "example.net", "example.org"].into_iter().any(ends)
    {
        return Some(AddressProblem::Placeholder);
    }
    match labels.as_slice() {
        [_] => Some(AddressProblem::LocalName),
        [.., "invalid"] => Some(AddressProblem::NoHost),
        ["metadata", "google", "internal"] => Some(AddressProblem::LinkLocal),
        ["kubernetes", "default"]
        | [.., "svc"]
        | [.., "cluster", "local"]
        | [.., "localdomain"]
        | [.., "docker" | "containers" | "lima" | "minikube", "internal"] => Some(AddressProblem::LocalName),
        [.., "local"] => Some(AddressProblem::LinkLocal),
        labels if labels.iter().any(|label| label.is_empty()) => Some(AddressProblem::NoHost),
        // names that no public resolver will ever know: `.internal` by ICANN, `home.arpa` by RFC 8375
        [.., "internal" | "lan"] | [.., "home", "arpa"] => Some(AddressProblem::Private),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<AddressProblem> {
        address_problems(text, Some(&Binding::JsonRpc))
    }

    #[test]
    fn addresses_that_work_from_outside_have_no_problem() {
        for text in [
            "https://agents.acme.com/rpc",
            "https://agents.acme.com:8443/a/b?x=1",
            "https://8.8.8.8/",
            "https://[2606:4700::1111]/rpc",
            "https://agent.example.test/rpc",
            "https://xn--bcher-kva.de/",
            "https://bücher.de/",
            "https://my-domain-name.de",
            "HTTPS://AGENTS.ACME.COM/",
        ] {
            assert_eq!(of(text), [], "{text}");
        }
    }

    #[test]
    fn each_address_that_cannot_work_is_named() {
        for (text, problem) in [
            ("/rpc", AddressProblem::NotAbsolute),
            ("agents.acme.com", AddressProblem::NotAbsolute),
            ("https:///rpc", AddressProblem::NotAbsolute),
            ("", AddressProblem::NotAbsolute),
            ("mailto:a@b.de", AddressProblem::NotAbsolute),
            ("https://{host}/rpc", AddressProblem::Template),
            ("https://<your-domain>/", AddressProblem::Template),
            ("${AGENT_URL}", AddressProblem::Template),
            ("https://api.example.com/", AddressProblem::Placeholder),
            ("https://your-domain.com/", AddressProblem::Placeholder),
            ("http://localhost:9999/", AddressProblem::Loopback),
            ("http://agent.localhost/", AddressProblem::Loopback),
            ("http://127.1:80/", AddressProblem::Loopback),
            ("http://[::1]/", AddressProblem::Loopback),
            ("http://[::ffff:127.0.0.1]/", AddressProblem::Loopback),
            ("http://0.0.0.0:8000", AddressProblem::ListenAll),
            ("http://[::]:80/", AddressProblem::ListenAll),
            ("http://169.254.169.254/latest", AddressProblem::LinkLocal),
            ("http://printer.local/", AddressProblem::LinkLocal),
            ("https://agent.invalid/", AddressProblem::NoHost),
            ("https://192.0.2.7/", AddressProblem::NoHost),
            ("http://planner:8080/", AddressProblem::LocalName),
            ("http://host.docker.internal:80", AddressProblem::LocalName),
            ("http://host.containers.internal:80", AddressProblem::LocalName),
            ("http://planner.team.svc.cluster.local/", AddressProblem::LocalName),
            ("http://planner.team.svc/", AddressProblem::LocalName),
            ("http://metadata.google.internal/", AddressProblem::LinkLocal),
            ("https://planner.internal/", AddressProblem::Private),
            ("https://agents.acme.com:0/", AddressProblem::NoHost),
            ("https://[64:ff9b::7f00:1]/", AddressProblem::Loopback),
            ("https://agents.acme.com\\@evil.test/", AddressProblem::NotAbsolute),
            ("https://agents.ac\tme.com/", AddressProblem::NotAbsolute),
            ("https://agents.acme.com/rpc\n", AddressProblem::NotAbsolute),
            (" https://agents.acme.com/", AddressProblem::NotAbsolute),
            ("https://10.0.0.7/", AddressProblem::Private),
            ("https://[fd00::1]/", AddressProblem::Private),
            ("https://u:p@agents.acme.com/", AddressProblem::Credentials),
            ("https://agents.acme.com/#rpc", AddressProblem::Fragment),
        ] {
            assert_eq!(of(text), [problem], "{text}");
        }
    }

    #[test]
    fn grpc_writes_host_and_port() {
        let grpc = |text: &str| address_problems(text, Some(&Binding::Grpc));
        for text in
            ["agents.acme.com:443", "dns:///agents.acme.com:443", "https://agents.acme.com", "[2606:4700::1]:443"]
        {
            assert_eq!(grpc(text), [], "{text}");
        }
        assert_eq!(grpc("localhost:50051"), [AddressProblem::Loopback]);
        assert_eq!(grpc("agents.acme.com"), [AddressProblem::NotAbsolute]);
        assert_eq!(grpc("agents.acme.com:0"), [AddressProblem::NotAbsolute]);
        assert_eq!(of("agents.acme.com:443"), [AddressProblem::NotAbsolute]);
    }
}
