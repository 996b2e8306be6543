//! What is wrong with a bundle or an environment: all of it at once, each with place, stable code and a hint.

use std::fmt;

use serde::{Serialize, Serializer};

/// A place in a text file; both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column, counted in characters.
    pub column: u32,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The file, as a path inside the bundle.
    pub file: String,
    /// The line, where one can be named.
    pub line: Option<u32>,
    /// The column, where one can be named.
    pub column: Option<u32>,
    /// The stable code.
    pub code: Code,
    /// What is wrong, in one sentence. Never holds a secret's value.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Everything that is wrong, by file and line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Problems(pub Vec<Problem>);

/// Most problems listed of one reading of one file: more help nobody, and a hostile file has a million.
pub(crate) const PER_FILE: usize = 100;

/// Adds a problem of the same file to others, up to the bound; then one that says so.
pub(crate) fn push_bounded(problems: &mut Vec<Problem>, problem: Problem) {
    match problems.len() {
        PER_FILE => {
            let more = Problem::new(&problem.file, Code::MoreProblems, "the file has more problems than are listed");
            problems.push(more.hint("repair these first"));
        }
        n if n < PER_FILE => problems.push(problem),
        _ => {}
    }
}

/// Declares the codes with their texts.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The stable code of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The stable text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    // --- the file set ---
    /// A file or directory could not be read at all.
    Unreadable = "UNREADABLE",
    /// A path is absolute, leaves the bundle, or is spelled in a way that is not portable.
    PathRefused = "PATH_REFUSED",
    /// A symbolic link.
    SymbolicLink = "SYMBOLIC_LINK",
    /// A hard link inside an archive.
    HardLink = "HARD_LINK",
    /// A device, pipe or socket.
    NotRegularFile = "NOT_REGULAR_FILE",
    /// A file whose name starts with a dot.
    HiddenFile = "HIDDEN_FILE",
    /// A file that no rule of the bundle's layout knows.
    UnknownFile = "UNKNOWN_FILE",
    /// The same path twice in an archive.
    DuplicateFile = "DUPLICATE_FILE",
    /// The archive is truncated or no tar at all.
    ArchiveMalformed = "ARCHIVE_MALFORMED",
    /// One file is larger than the bound.
    FileTooLarge = "FILE_TOO_LARGE",
    /// All files together are larger than the bound.
    BundleTooLarge = "BUNDLE_TOO_LARGE",
    /// More files than the bound.
    TooManyFiles = "TOO_MANY_FILES",
    // --- one file's text ---
    /// The bytes are not UTF-8.
    NotUtf8 = "NOT_UTF8",
    /// The text is no YAML.
    YamlSyntax = "YAML_SYNTAX",
    /// The text is no JSON.
    JsonSyntax = "JSON_SYNTAX",
    /// Nested deeper than the bound.
    NestingTooDeep = "NESTING_TOO_DEEP",
    /// More values than the bound.
    TooManyNodes = "TOO_MANY_NODES",
    /// Aliases expand to more than the bound.
    AliasBudget = "ALIAS_BUDGET",
    /// An alias names no finished anchor.
    AliasUnknown = "ALIAS_UNKNOWN",
    /// The same key twice in one mapping.
    DuplicateKey = "DUPLICATE_KEY",
    /// A YAML tag.
    TagRefused = "TAG_REFUSED",
    /// A YAML merge key.
    MergeKeyRefused = "MERGE_KEY_REFUSED",
    /// The file has more problems than are listed.
    MoreProblems = "MORE_PROBLEMS",
    /// More than one YAML document in a file.
    SeveralDocuments = "SEVERAL_DOCUMENTS",
    /// Nothing in the file.
    EmptyDocument = "EMPTY_DOCUMENT",
    /// A mapping key that is no plain text.
    KeyNotText = "KEY_NOT_TEXT",
    /// A number that JSON cannot carry exactly.
    NumberOutOfRange = "NUMBER_OUT_OF_RANGE",
    // --- one file's meaning ---
    /// A key that the file kind does not know.
    UnknownKey = "UNKNOWN_KEY",
    /// A key that must be there.
    MissingKey = "MISSING_KEY",
    /// A value of another type.
    WrongType = "WRONG_TYPE",
    /// A value of the right type that is not allowed.
    InvalidValue = "INVALID_VALUE",
    // --- files together ---
    /// `contract.yaml` is not there.
    ContractMissing = "CONTRACT_MISSING",
    /// The contract declares neither a card nor tools.
    NothingDeclared = "NOTHING_DECLARED",
    /// A file that is named and not there.
    ReferenceMissing = "REFERENCE_MISSING",
    /// A bare name that stands for two files.
    ReferenceAmbiguous = "REFERENCE_AMBIGUOUS",
    /// A reference to the network.
    RemoteReference = "REMOTE_REFERENCE",
    /// A JSON Schema that does not compile.
    SchemaInvalid = "SCHEMA_INVALID",
    /// A JSON Schema by which a small value takes a long time to judge.
    SchemaTooComplex = "SCHEMA_TOO_COMPLEX",
    /// The agent card is not what a card can be.
    CardInvalid = "CARD_INVALID",
    /// A tool snapshot is not what a snapshot can be.
    SnapshotInvalid = "SNAPSHOT_INVALID",
    /// A name that must be unique is used twice.
    DuplicateId = "DUPLICATE_ID",
    /// A skill that the card does not have.
    SkillUnknown = "SKILL_UNKNOWN",
    /// A tool that no snapshot has.
    ToolUnknown = "TOOL_UNKNOWN",
    /// Modes of the contract that the card does not declare.
    ModesContradict = "MODES_CONTRADICT",
    /// A task state that the specification does not know.
    StateUnknown = "STATE_UNKNOWN",
    /// A terminal state with outgoing edges.
    TerminalHasEdges = "TERMINAL_HAS_EDGES",
    /// A state that no path from an initial state reaches.
    StateUnreachable = "STATE_UNREACHABLE",
    /// A state that is not terminal and has no way on.
    StateDeadEnd = "STATE_DEAD_END",
    /// A state's terminality differs from the standard.
    TerminalContradicts = "TERMINAL_CONTRADICTS",
    /// A reason code that neither the catalogue nor the bundle knows.
    ReasonUnknown = "REASON_UNKNOWN",
    /// Two statements of the bundle exclude each other.
    Contradiction = "CONTRADICTION",
    // --- what must never be in a bundle ---
    /// A private key, token, password or other credential.
    SecretFound = "SECRET_FOUND",
    /// What looks like data of a real person.
    PersonalData = "PERSONAL_DATA",
    // --- environments ---
    /// A setting that this build cannot honour.
    SettingUnsupported = "SETTING_UNSUPPORTED",
    /// A secret written out instead of referred to.
    SecretInline = "SECRET_INLINE",
}

// === impl Code ===

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}

// === impl Problem ===

impl Problem {
    /// A problem of a whole file.
    #[must_use]
    pub fn new(file: &str, code: Code, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, column: None, code, message: message.into(), hint: None }
    }

    /// The same problem at a place.
    #[must_use]
    pub const fn at(mut self, at: Position) -> Self {
        self.line = Some(at.line);
        self.column = Some(at.column);
        self
    }

    /// The same problem on a line whose column says nothing.
    #[must_use]
    pub const fn on_line(mut self, line: Option<u32>) -> Self {
        self.line = line;
        self
    }

    /// The same problem with a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        write!(f, ": {}: {}", self.code, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

// === impl Problems ===

impl Problems {
    /// `Ok` when nothing is wrong; else all of it, in the order of files and lines.
    ///
    /// # Errors
    /// When there is at least one problem.
    pub fn into_result(mut self) -> Result<(), Self> {
        if self.0.is_empty() {
            return Ok(());
        }
        self.sort();
        Err(self)
    }

    /// Puts the problems into the order in which people read files, without repetitions.
    pub fn sort(&mut self) {
        self.0.sort();
        self.0.dedup();
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.0.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
