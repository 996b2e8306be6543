//! What looks like data of real people: mail addresses outside the reserved domains, numbers of payment cards.

use super::{Hit, Pattern, pattern};
use crate::problem::Code;

static EMAIL: Pattern =
    Pattern::new(|| pattern(r"([A-Za-z0-9][A-Za-z0-9._%+-]*)@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})"));

static CARD: Pattern = Pattern::new(|| pattern(r"[3-6][0-9](?:[ -]?[0-9]){11,17}"));

/// Domains that belong to nobody (RFC 2606, RFC 6761).
const RESERVED: &[&str] =
    &["example.com", "example.org", "example.net", "example", "test", "invalid", "localhost", "local"];

/// Mailboxes of functions, not of people.
const FUNCTIONS: &[&str] = &[
    "abuse",
    "admin",
    "contact",
    "help",
    "hello",
    "info",
    "noreply",
    "no-reply",
    "ops",
    "postmaster",
    "security",
    "support",
];

/// Numbers that payment networks publish for tests.
const TEST_CARDS: &[&str] = &[
    "4111111111111111",
    "4242424242424242",
    "4012888888881881",
    "4000056655665556",
    "5555555555554444",
    "5105105105105100",
    "2223003122003222",
    "378282246310005",
    "371449635398431",
    "6011111111111117",
    "6011000990139424",
    "3530111333300000",
    "30569309025904",
];

/// Everything on the line that looks like data of a person.
pub(super) fn hits(line: &str) -> Vec<Hit> {
    let mut found = Vec::new();
    if line.contains('@') {
        found.extend(email(line));
    }
    if line.bytes().filter(u8::is_ascii_digit).count() >= 13 {
        found.extend(card(line));
    }
    found
}

fn email(line: &str) -> Option<Hit> {
    EMAIL.captures_iter(line).find_map(|captures| {
        let (local, domain) = (captures.get(1)?, captures.get(2)?);
        let domain = domain.as_str().to_ascii_lowercase();
        let reserved = RESERVED.iter().any(|r| domain == *r || domain.ends_with(&format!(".{r}")));
        let function = FUNCTIONS.contains(&local.as_str().to_ascii_lowercase().as_str());
        let what = "looks like a person's mail address";
        let hit = Hit { rule: "email_address", what, start: local.start(), code: Code::PersonalData };
        // `user:password@host` in a URL is another rule's business.
        let in_url = line[..local.start()].ends_with([':', '/']);
        (!reserved && !function && !in_url).then_some(hit)
    })
}

fn card(line: &str) -> Option<Hit> {
    CARD.find_iter(line).find_map(|found| {
        let digits: String = found.as_str().chars().filter(char::is_ascii_digit).collect();
        let before = line[..found.start()].chars().next_back();
        let after = line[found.end()..].chars().next();
        let glued = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | ':' | '_'));
        let standing_alone = !glued(before) && !glued(after);
        let real = is_issued(&digits) && luhn(&digits) && !TEST_CARDS.contains(&digits.as_str());
        let what = "looks like the number of a payment card";
        let hit = Hit { rule: "payment_card", what, start: found.start(), code: Code::PersonalData };
        (standing_alone && real).then_some(hit)
    })
}

/// Whether a network issues numbers that begin so and have that length.
fn is_issued(digits: &str) -> bool {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| digits.starts_with(p));
    match digits.len() {
        13 | 19 => starts(&["4"]),
        14 => starts(&["30", "36", "38"]),
        15 => starts(&["34", "37"]),
        16 => starts(&["4", "51", "52", "53", "54", "55", "6011", "65", "35"]),
        _ => false,
    }
}

fn luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(n, b)| {
            let digit = u32::from(b - b'0');
            if n % 2 == 0 { digit } else { digit * 2 % 10 + digit / 5 }
        })
        .sum();
    sum.is_multiple_of(10)
}
