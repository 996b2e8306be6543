//! The two declarations from which decoders and schemas are made.

/// The key of a field: its own name, or the one given with `as`.
macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

/// A mapping: one line a key; `as "name"` renames it, `= default` makes it optional.
macro_rules! file_type {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* $field:ident $(as $key:literal)? : $ty:ty $(= $default:ident)?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
        #[schemars(deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[$field_meta])*
                $(#[serde(rename = $key)])?
                $(#[schemars($default)])?
                pub $field: $ty,
            )*
        }

        impl $crate::decode::Decode for $name {
            fn decode(node: &$crate::yaml::Node, cx: &mut $crate::decode::Cx<'_>) -> Option<Self> {
                const KEYS: &[&str] = &[$($crate::decode::key!($field $($key)?)),*];
                let members = cx.members(node, KEYS)?;
                $(
                    let $field = $crate::decode::file_type!(
                        @member members, cx, $crate::decode::key!($field $($key)?) $(, $default)?
                    );
                )*
                Some(Self { $($field: $field?,)* })
            }
        }
    };
    (@member $members:ident, $cx:ident, $key:expr) => { $members.required($key, $cx) };
    (@member $members:ident, $cx:ident, $key:expr, default) => { $members.optional($key, $cx) };
}

/// A closed set of words.
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
        )]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// All words of the set.
            pub const WORDS: &'static [&'static str] = &[$($text),*];

            /// The word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The value of a word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::decode::Decode for $name {
            fn decode(node: &$crate::yaml::Node, cx: &mut $crate::decode::Cx<'_>) -> Option<Self> {
                let word = <String as $crate::decode::Decode>::decode(node, cx)?;
                let found = Self::from_word(&word);
                if found.is_none() {
                    cx.unknown_word(node, &word, Self::WORDS);
                }
                found
            }
        }
    };
}

pub(crate) use {choice, file_type, key};
