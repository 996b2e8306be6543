//! A space of combinations: axes with values, and constraints as data on what cannot go together.

use std::collections::BTreeMap;

/// One dimension of the space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name: `mode`.
    pub name: String,
    /// Its values, the usual one first.
    pub values: Vec<String>,
}

/// What cannot go together, and the name under which that is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// Why, in a few words: "no stream is declared".
    pub name: String,
    /// What it rules out.
    pub rule: Rule,
}

/// What a constraint rules out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Rows in which each of these axes has one of these values.
    Never(Vec<(String, Vec<String>)>),
    /// Rows in which these axes together have none of these values.
    Only {
        /// The axes.
        axes: Vec<String>,
        /// The values that they may have together, in the order of `axes`.
        rows: Vec<Vec<String>>,
    },
}

/// A space of combinations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// The dimensions.
    pub axes: Vec<Axis>,
    /// What cannot go together.
    pub constraints: Vec<Constraint>,
}

/// A combination, or a part of one: values by axis.
pub type Row = BTreeMap<String, String>;

/// Most axes of a space.
pub const MOST_AXES: usize = 16;
/// Most values of an axis: one bit each of a machine word.
pub const MOST_VALUES: usize = 64;
/// Most constraints of a space.
pub const MOST_CONSTRAINTS: usize = 256;

/// Why a space cannot be worked with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// It is larger than what is searched.
    #[error("the space has {found} {what}, and at most {most} are searched")]
    TooLarge {
        /// Axes, values or constraints.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// An axis has no value, so that there is no row at all.
    #[error("the axis `{0}` has no value")]
    Empty(String),
    /// Something names an axis or value that is not there.
    #[error("there is no `{0}` in the space")]
    Unknown(String),
    /// The search for a row was given up.
    #[error("the constraints are too entangled to decide whether a row exists")]
    Undecided,
}

/// Index of a value of each axis; [`UNSET`] where none is chosen.
pub(super) type Cells = Vec<u8>;
/// No value chosen.
pub(super) const UNSET: u8 = u8::MAX;
/// Most steps of one search: rows of 16 axes are found in a few hundred, or hardly at all.
const MOST_STEPS: u32 = 200_000;

/// A space by indices, in which rows are searched.
pub(super) struct Solver {
    pub(super) sizes: Vec<u8>,
    rules: Vec<Compiled>,
    /// Which rules speak of an axis.
    of_axis: Vec<Vec<usize>>,
}

#[derive(Clone)]
enum Compiled {
    Never(Vec<(usize, u64)>),
    Only(Vec<usize>, Vec<Vec<u8>>),
}

// === impl Space ===

impl Space {
    /// How many rows there would be without constraints.
    #[must_use]
    pub fn product(&self) -> u128 {
        self.axes.iter().fold(1, |n, axis| n.saturating_mul(axis.values.len() as u128))
    }

    /// Adds an axis.
    #[must_use]
    pub fn axis<'v>(mut self, name: &str, values: impl IntoIterator<Item = &'v str>) -> Self {
        let values = values.into_iter().map(str::to_owned).collect();
        self.axes.push(Axis { name: name.to_owned(), values });
        self
    }

    /// Adds a constraint: rows in which each of these axes has one of these values are none.
    #[must_use]
    pub fn never(mut self, name: &str, forbidden: &[(&str, &[&str])]) -> Self {
        let owned = |values: &[&str]| values.iter().map(|v| (*v).to_owned()).collect();
        let rule = Rule::Never(forbidden.iter().map(|(axis, values)| ((*axis).to_owned(), owned(values))).collect());
        self.constraints.push(Constraint { name: name.to_owned(), rule });
        self
    }

    pub(super) fn cells(&self, row: &Row) -> Result<Cells, SpaceError> {
        let mut cells = vec![UNSET; self.axes.len()];
        for (axis, value) in row {
            let at = self.index(axis)?;
            cells[at] = self.value(at, value)?;
        }
        Ok(cells)
    }

    pub(super) fn row(&self, cells: &[u8]) -> Row {
        let set = self.axes.iter().zip(cells).filter(|(_, cell)| **cell != UNSET);
        set.map(|(axis, cell)| (axis.name.clone(), axis.values[usize::from(*cell)].clone())).collect()
    }

    /// The space by indices.
    pub(super) fn compile(&self) -> Result<Solver, SpaceError> {
        let bound = |what, found, most| {
            if found > most { Err(SpaceError::TooLarge { what, found, most }) } else { Ok(()) }
        };
        bound("axes", self.axes.len(), MOST_AXES)?;
        bound("constraints", self.constraints.len(), MOST_CONSTRAINTS)?;
        for axis in &self.axes {
            bound("values", axis.values.len(), MOST_VALUES)?;
            if axis.values.is_empty() {
                return Err(SpaceError::Empty(axis.name.clone()));
            }
        }
        let rules = self.constraints.iter().map(|c| self.compile_rule(&c.rule)).collect::<Result<Vec<_>, _>>()?;
        let speaks = |rule: &Compiled, axis: usize| match rule {
            Compiled::Never(cells) => cells.iter().any(|(at, _)| *at == axis),
            Compiled::Only(axes, _) => axes.contains(&axis),
        };
        let of = |axis| (0..rules.len()).filter(|n| speaks(&rules[*n], axis)).collect();
        let of_axis = (0..self.axes.len()).map(of).collect();
        // at most 64, see above
        let sizes = self.axes.iter().map(|a| u8::try_from(a.values.len()).unwrap_or(UNSET)).collect();
        Ok(Solver { sizes, rules, of_axis })
    }

    fn compile_rule(&self, rule: &Rule) -> Result<Compiled, SpaceError> {
        match rule {
            Rule::Never(cells) => {
                let one = |(axis, values): &(String, Vec<String>)| {
                    let at = self.index(axis)?;
                    let mask = values.iter().try_fold(0, |mask, v| Ok(mask | 1 << self.value(at, v)?));
                    mask.map(|mask: u64| (at, mask))
                };
                cells.iter().map(one).collect::<Result<_, _>>().map(Compiled::Never)
            }
            Rule::Only { axes, rows } => {
                let at = axes.iter().map(|axis| self.index(axis)).collect::<Result<Vec<_>, _>>()?;
                let row = |row: &Vec<String>| at.iter().zip(row).map(|(at, v)| self.value(*at, v)).collect();
                let rows = rows.iter().map(row).collect::<Result<_, _>>()?;
                Ok(Compiled::Only(at, rows))
            }
        }
    }

    fn index(&self, axis: &str) -> Result<usize, SpaceError> {
        self.axes.iter().position(|a| a.name == axis).ok_or_else(|| SpaceError::Unknown(axis.to_owned()))
    }

    fn value(&self, axis: usize, value: &str) -> Result<u8, SpaceError> {
        let at = self.axes[axis].values.iter().position(|v| v == value);
        at.and_then(|at| u8::try_from(at).ok()).ok_or_else(|| SpaceError::Unknown(value.to_owned()))
    }
}

// === impl Solver ===

impl Solver {
    /// Whether no constraint rules a part of a row out by what is chosen in it.
    pub(super) fn allows(&self, cells: &[u8]) -> bool {
        self.rules.iter().all(|rule| rule.allows(cells))
    }

    /// Whether the part can be made a whole row.
    pub(super) fn completes(&self, cells: &[u8]) -> Result<bool, SpaceError> {
        if self.rules.is_empty() {
            return Ok(true);
        }
        let mut steps = 0;
        if !self.allows(cells) {
            return Ok(false);
        }
        self.search(&mut cells.to_vec(), 0, &mut steps)
    }

    fn search(&self, cells: &mut Cells, from: usize, steps: &mut u32) -> Result<bool, SpaceError> {
        // an axis that no rule speaks of takes any value
        let open = |at: &usize| cells[*at] == UNSET && !self.of_axis[*at].is_empty();
        let Some(at) = (from..cells.len()).find(open) else { return Ok(true) };
        for value in 0..self.sizes[at] {
            *steps += 1;
            if *steps > MOST_STEPS {
                return Err(SpaceError::Undecided);
            }
            cells[at] = value;
            if self.of_axis[at].iter().all(|n| self.rules[*n].allows(cells)) && self.search(cells, at + 1, steps)? {
                cells[at] = UNSET;
                return Ok(true);
            }
        }
        cells[at] = UNSET;
        Ok(false)
    }

    /// The constraints without any of which the part could be completed: why it cannot.
    pub(super) fn blame(&self, cells: &[u8]) -> Result<Vec<usize>, SpaceError> {
        let mut kept: Vec<usize> = (0..self.rules.len()).collect();
        let mut at = 0;
        while at < kept.len() {
            let without: Vec<usize> = kept.iter().copied().filter(|n| *n != kept[at]).collect();
            if self.only(&without).completes(cells)? {
                at += 1;
            } else {
                kept = without;
            }
        }
        Ok(kept)
    }

    /// The same space with these constraints alone.
    fn only(&self, rules: &[usize]) -> Self {
        let place = |n: &usize| rules.iter().position(|kept| kept == n);
        let of_axis = self.of_axis.iter().map(|all| all.iter().filter_map(place).collect()).collect();
        let rules = rules.iter().map(|n| self.rules[*n].clone()).collect();
        Self { sizes: self.sizes.clone(), rules, of_axis }
    }
}

// === impl Compiled ===

impl Compiled {
    fn allows(&self, cells: &[u8]) -> bool {
        match self {
            Self::Never(forbidden) => {
                !forbidden.iter().all(|(at, mask)| cells[*at] != UNSET && mask & (1 << cells[*at]) != 0)
            }
            Self::Only(axes, rows) => {
                let fits = |row: &Vec<u8>| axes.iter().zip(row).all(|(at, v)| cells[*at] == UNSET || cells[*at] == *v);
                rows.iter().any(fits)
            }
        }
    }
}
