//! What looks like data of real people: mail addresses outside the reserved domains, numbers of
//! cards and accounts whose check digits are right, and numbers whose key says whose they are.

use super::{Hit, Pattern, pattern};
use crate::problem::Code;

static EMAIL: Pattern =
    Pattern::new(|| pattern(r"([A-Za-z0-9][A-Za-z0-9._%+-]*)@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})"));

static CARD: Pattern = Pattern::new(|| pattern(r"[3-6][0-9](?:[ -]?[0-9]){11,17}"));

static ACCOUNT: Pattern = Pattern::new(|| pattern(r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}\b"));

/// Numbers that only their key makes personal.
static BY_KEY: Pattern = Pattern::new(|| {
    pattern(
        r#"(?i)(ssn|social_?security|phone|mobile|telephone)[a-z_]*["']?\s*[:=]\s*["']?([0-9]{3}-[0-9]{2}-[0-9]{4}|\+[1-9][0-9 ()-]{7,20})"#,
    )
});

/// Domains that belong to nobody (RFC 2606, RFC 6761).
const RESERVED: &[&str] =
    &["example.com", "example.org", "example.net", "example", "test", "invalid", "localhost", "local"];

/// Mailboxes of functions, not of people.
const FUNCTIONS: &[&str] = &[
    "abuse",
    "admin",
    "contact",
    "git",
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

/// Everything on the line that looks like data of a person.
pub(super) fn hits(line: &str) -> Vec<Hit> {
    let mut found = Vec::new();
    if line.contains('@') {
        found.extend(email(line));
    }
    let digits = line.bytes().filter(u8::is_ascii_digit).count();
    if digits >= 13 {
        found.extend(card(line));
    }
    if digits >= 8 {
        found.extend(account(line));
        found.extend(by_key(line));
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
        let real = is_issued(&digits) && luhn(&digits);
        let what = "looks like the number of a payment card";
        let hit = Hit { rule: "payment_card", what, start: found.start(), code: Code::PersonalData };
        (standing_alone && real).then_some(hit)
    })
}

fn account(line: &str) -> Option<Hit> {
    ACCOUNT.find_iter(line).find_map(|found| {
        let what = "looks like the number of a bank account";
        let hit = Hit { rule: "bank_account", what, start: found.start(), code: Code::PersonalData };
        iban(found.as_str()).then_some(hit)
    })
}

/// ISO 13616: the four first characters moved to the end, letters as 10 to 35, the whole 1 modulo 97.
fn iban(text: &str) -> bool {
    let compact: Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
    let (head, rest) = compact.split_at(4);
    let mut remainder = 0_u32;
    for b in rest.iter().chain(head) {
        remainder = match b {
            b'0'..=b'9' => remainder * 10 + u32::from(b - b'0'),
            _ => remainder * 100 + u32::from(b - b'A') + 10,
        } % 97;
    }
    remainder == 1
}

fn by_key(line: &str) -> Option<Hit> {
    BY_KEY.captures_iter(line).find_map(|captures| {
        let (key, value) = (captures.get(1)?, captures.get(2)?);
        let phone = !key.as_str().to_ascii_lowercase().starts_with('s');
        let (rule, what) = if phone {
            ("phone_number", "looks like a person's phone number")
        } else {
            ("national_id", "looks like a person's national number")
        };
        // 555-01xx is kept free for fiction.
        let fiction = phone && value.as_str().replace(['-', ' ', '(', ')'], "").contains("55501");
        (!fiction).then_some(Hit { rule, what, start: value.start(), code: Code::PersonalData })
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
