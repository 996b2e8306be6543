//! Characters that a person does not see and a model reads: the usual carrier of instructions in
//! descriptions of tools and skills.
//!
//! What scripts and emoji really need is not reported: joiners between letters of Indic and Arabic scripts or between
//! emoji, variation selectors behind a character, direction marks beside right-to-left letters, flags of regions.

/// Most tags behind the black flag that make the flag of a region: five or six, and the cancelling one. One more, so that
/// the count is not used up by the last.
const FLAG_TAGS: u8 = 8;

/// What kind of hidden character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hidden {
    /// Has no width: zero-width space, word joiner, fillers.
    ZeroWidth,
    /// Turns the order of what is shown.
    Bidi,
    /// Of the tag block, which spells ASCII invisibly.
    Tag,
    /// A control character; with ESC a terminal obeys.
    Control,
    /// A variation selector where there is nothing to vary: they can encode whole texts.
    Variation,
}

/// A hidden character with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub kind: Hidden,
    /// The first one.
    pub first: char,
    /// Its place, in characters from 0.
    pub at: usize,
    /// How many hidden characters the text has, of all kinds.
    pub count: usize,
}

// === impl Hidden ===

impl Hidden {
    /// Its name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ZeroWidth => "zero-width character",
            Self::Bidi => "bidirectional control",
            Self::Tag => "tag character",
            Self::Control => "control character",
            Self::Variation => "variation selector",
        }
    }
}

/// The first hidden character of a text and how many there are; `None` for a text that shows all it says.
#[must_use]
pub fn find(text: &str) -> Option<Found> {
    // nearly every text is printable ASCII, and then nothing needs to be looked at twice
    if text.bytes().all(|b| (b' '..=b'~').contains(&b) || matches!(b, b'\n' | b'\t' | b'\r')) {
        return None;
    }
    let chars: Vec<char> = text.chars().collect();
    let mut found: Option<Found> = None;
    let mut flag = 0;
    for (at, c) in chars.iter().copied().enumerate() {
        flag = match c {
            '\u{1F3F4}' => FLAG_TAGS,
            c if is_tag(c) && flag > 0 => flag - 1,
            _ => 0,
        };
        let before = at.checked_sub(1).map(|n| chars[n]);
        let Some(kind) = kind(c, before, chars.get(at + 1).copied(), flag > 0) else { continue };
        match &mut found {
            Some(found) => found.count += 1,
            None => found = Some(Found { kind, first: c, at, count: 1 }),
        }
    }
    found
}

fn kind(c: char, before: Option<char>, after: Option<char>, flag: bool) -> Option<Hidden> {
    match c {
        '\n' | '\t' | '\r' => None,
        c if c.is_control() => Some(Hidden::Control),
        '\u{200C}' | '\u{200D}' => {
            let joins = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !is_invisible(c));
            // an emoji's variation selector may stand before the joiner
            let joined = joins(before) || before == Some('\u{FE0F}');
            (!(joined && joins(after))).then_some(Hidden::ZeroWidth)
        }
        '\u{200E}' | '\u{200F}' | '\u{061C}' => {
            let rtl = |c: Option<char>| c.is_some_and(is_right_to_left);
            (!(rtl(before) || rtl(after))).then_some(Hidden::Bidi)
        }
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Some(Hidden::Bidi),
        c if is_tag(c) => (!flag).then_some(Hidden::Tag),
        '\u{FE00}'..='\u{FE0F}' | '\u{180B}'..='\u{180D}' => {
            let varies = |c: char| (!c.is_ascii() && !is_invisible(c)) || matches!(c, '0'..='9' | '#' | '*');
            (!before.is_some_and(varies)).then_some(Hidden::Variation)
        }
        '\u{E0100}'..='\u{E01EF}' => (!before.is_some_and(is_ideograph)).then_some(Hidden::Variation),
        c if is_zero_width(c) => Some(Hidden::ZeroWidth),
        _ => None,
    }
}

const fn is_tag(c: char) -> bool {
    matches!(c, '\u{E0000}'..='\u{E007F}')
}

const fn is_zero_width(c: char) -> bool {
    matches!(
        c,
        '\u{00AD}' | '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180E}' | '\u{200B}'
            | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}' | '\u{3164}'
            | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}'
    )
}

const fn is_invisible(c: char) -> bool {
    is_zero_width(c)
        || is_tag(c)
        || matches!(c, '\u{200C}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
            | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

const fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}')
}

const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_hidden_character_is_found() {
        let table = [
            ("read\u{200B}only", Hidden::ZeroWidth),
            ("a\u{200D}b", Hidden::ZeroWidth),
            ("\u{FEFF}a", Hidden::ZeroWidth),
            ("soft\u{AD}hyphen", Hidden::ZeroWidth),
            ("abc\u{202E}cba", Hidden::Bidi),
            ("a\u{2066}b\u{2069}", Hidden::Bidi),
            ("left\u{200E}right", Hidden::Bidi),
            ("x\u{E0049}\u{E0067}", Hidden::Tag),
            ("\u{1B}[8mhidden", Hidden::Control),
            ("\u{1F3F4}\u{E0067}\u{E0067}\u{E0067}\u{E0067}\u{E0067}\u{E0067}\u{E0067}\u{E0067}", Hidden::Tag),
            ("x\u{E0101}\u{E0102}", Hidden::Variation),
            ("x\u{FE01}", Hidden::Variation),
            ("\u{1F600}\u{E0101}", Hidden::Variation),
            ("\u{1F600}\u{FE0F}\u{FE01}", Hidden::Variation),
        ];
        for (text, kind) in table {
            assert_eq!(find(text).map(|f| f.kind), Some(kind), "{text:?}");
        }
        assert_eq!(
            find("ab\u{200B}\u{200B}"),
            Some(Found { kind: Hidden::ZeroWidth, first: '\u{200B}', at: 2, count: 2 })
        );
    }

    #[test]
    fn what_scripts_and_emoji_need_is_not_hidden() {
        let texts = [
            "plain\nwith\ttabs\r\n",
            "d\u{e9}j\u{e0} vu \u{2014} \u{201C}quoted\u{201D}\u{2026}\u{a0}\u{202F}!",
            "\u{0645}\u{06CC}\u{200C}\u{062E}\u{0648}\u{0627}\u{0647}\u{0645}",
            "\u{05D0}\u{200F}!",
            "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}",
            "\u{2764}\u{FE0F}\u{200D}\u{1F525}",
            "\u{26A0}\u{FE0F} careful, 1\u{FE0F}\u{20E3}",
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
            "\u{845B}\u{E0100}",
            "\u{5DE5}\u{5177}\u{3000}\u{8AAC}\u{660E}",
        ];
        for text in texts {
            assert_eq!(find(text), None, "{text:?}");
        }
    }
}
