//! Rows of a space in which every pair of values that can go together does so at least once.
//!
//! Greedy, one row at a time: a row begins with a pair that is still missing, and each further axis takes the value that
//! adds most missing pairs, as long as the constraints let the row be completed. The same seed gives the same rows.

use super::space::{Cells, Row, Solver, Space, SpaceError, UNSET};

/// What the rows must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// How many axes are combined with each other: 2 = every pair, 1 = every value, 0 = only what `parts` says.
    pub strength: u8,
    /// Parts of rows that must be in some row as they are: boundaries, past incidents, a product of some axes.
    pub parts: Vec<Row>,
}

/// Rows, and what no row can hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Covering {
    /// The rows, whole ones.
    pub rows: Vec<Row>,
    /// How many parts that can be in a row were asked for; all of them are.
    pub feasible: usize,
    /// What was asked for and cannot be.
    pub infeasible: Vec<Infeasible>,
}

/// A part that is in no row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Infeasible {
    /// The part.
    pub part: Row,
    /// The names of the constraints that together rule it out.
    pub because: Vec<String>,
}

/// Most parts that one product may have: what a person would still read.
pub const MOST_PARTS: usize = 10_000;
/// Up to so many missing pairs, some candidates are tried for each row and the best is taken.
const SMALL: usize = 4_000;
/// How many candidates.
const CANDIDATES: usize = 6;

/// Rows that hold what is demanded.
///
/// # Errors
/// When the space is larger than what is searched, names something that is not there, or cannot be decided.
pub fn cover(space: &Space, demand: &Demand, seed: u64) -> Result<Covering, SpaceError> {
    let solver = space.compile()?;
    let mut work = Work {
        space,
        solver: &solver,
        missing: Missing::of(&solver, demand.strength),
        dice: Dice(seed),
        out: Vec::new(),
    };
    let mut covering = Covering::default();
    let parts = demand.parts.iter().map(|part| space.cells(part)).collect::<Result<Vec<_>, _>>()?;
    for part in parts {
        if !solver.completes(&part)? {
            covering.infeasible.push(work.infeasible(&part)?);
            continue;
        }
        covering.feasible += 1;
        if !work.out.iter().any(|row| holds(row, &part)) {
            work.row(&part)?;
        }
    }
    while let Some(part) = work.missing.first() {
        if solver.completes(&part)? {
            work.row(&part)?;
        } else {
            covering.infeasible.push(work.infeasible(&part)?);
            work.missing.drop(&part);
        }
    }
    covering.feasible += work.missing.covered;
    covering.rows = work.out.iter().map(|cells| space.row(cells)).collect();
    Ok(covering)
}

/// Every combination of some axes, as parts of rows.
///
/// # Errors
/// When there are more than [`MOST_PARTS`], or an axis is not there.
pub fn product(space: &Space, axes: &[&str]) -> Result<Vec<Row>, SpaceError> {
    let mut parts = vec![Row::new()];
    for name in axes {
        let axis =
            space.axes.iter().find(|a| a.name == *name).ok_or_else(|| SpaceError::Unknown((*name).to_owned()))?;
        let found = parts.len().saturating_mul(axis.values.len());
        if found > MOST_PARTS {
            return Err(SpaceError::TooLarge { what: "combinations", found, most: MOST_PARTS });
        }
        let with = |part: &Row, value: &String| {
            let mut part = part.clone();
            part.insert(axis.name.clone(), value.clone());
            part
        };
        parts = parts.iter().flat_map(|part| axis.values.iter().map(|v| with(part, v)).collect::<Vec<_>>()).collect();
    }
    Ok(parts)
}

/// How many of the demanded parts are in these rows.
///
/// # Errors
/// When the space is larger than what is searched, or a row or part names something that is not there.
pub fn held(space: &Space, demand: &Demand, rows: &[Row]) -> Result<usize, SpaceError> {
    let solver = space.compile()?;
    let mut missing = Missing::of(&solver, demand.strength);
    let rows = rows.iter().map(|row| space.cells(row)).collect::<Result<Vec<_>, _>>()?;
    rows.iter().for_each(|row| missing.take(row));
    let parts = demand.parts.iter().map(|part| space.cells(part)).collect::<Result<Vec<_>, _>>()?;
    let found = parts.iter().filter(|part| rows.iter().any(|row| holds(row, part))).count();
    Ok(missing.covered + found)
}

struct Work<'a> {
    space: &'a Space,
    solver: &'a Solver,
    missing: Missing,
    dice: Dice,
    out: Vec<Cells>,
}

// === impl Work ===

impl Work<'_> {
    /// Makes a row out of a part that can be one, and takes it.
    fn row(&mut self, part: &[u8]) -> Result<(), SpaceError> {
        let tries = if self.missing.open <= SMALL { CANDIDATES } else { 1 };
        let mut best: Option<(usize, Cells)> = None;
        for _ in 0..tries {
            let cells = self.candidate(part)?;
            let gain = self.missing.gain_of(&cells);
            if best.as_ref().is_none_or(|(most, _)| gain > *most) {
                best = Some((gain, cells));
            }
        }
        if let Some((_, cells)) = best {
            self.missing.take(&cells);
            self.out.push(cells);
        }
        Ok(())
    }

    fn candidate(&mut self, part: &[u8]) -> Result<Cells, SpaceError> {
        let mut cells = part.to_vec();
        let mut open: Vec<usize> = (0..cells.len()).filter(|at| cells[*at] == UNSET).collect();
        self.dice.shuffle(&mut open);
        for at in open {
            let mut values: Vec<u8> = (0..self.solver.sizes[at]).collect();
            self.dice.shuffle(&mut values);
            // stable: of equal gain, the dice decide
            values.sort_by_cached_key(|v| std::cmp::Reverse(self.missing.gain(&cells, at, *v)));
            for value in values {
                cells[at] = value;
                if self.solver.completes(&cells)? {
                    break;
                }
                cells[at] = UNSET;
            }
        }
        Ok(cells)
    }

    fn infeasible(&self, part: &[u8]) -> Result<Infeasible, SpaceError> {
        let names = self.solver.blame(part)?.into_iter().map(|n| self.space.constraints[n].name.clone());
        let mut because: Vec<String> = names.collect();
        because.dedup();
        Ok(Infeasible { part: self.space.row(part), because })
    }
}

/// Which pairs, or single values, no row holds yet.
struct Missing {
    strength: u8,
    sizes: Vec<usize>,
    /// One list a pair of axes (or axis), one entry a pair of values (or value).
    lists: Vec<Vec<bool>>,
    open: usize,
    covered: usize,
    /// Lists before this one have nothing open.
    from: usize,
}

// === impl Missing ===

impl Missing {
    fn of(solver: &Solver, strength: u8) -> Self {
        let sizes: Vec<usize> = solver.sizes.iter().map(|n| usize::from(*n)).collect();
        let lists: Vec<Vec<bool>> = match strength {
            0 => Vec::new(),
            1 => sizes.iter().map(|n| vec![true; *n]).collect(),
            _ => pairs(sizes.len()).map(|(a, b)| vec![true; sizes[a] * sizes[b]]).collect(),
        };
        // one axis alone has no pairs, and each of its values counts
        let (strength, lists) =
            if strength >= 2 && sizes.len() == 1 { (1, vec![vec![true; sizes[0]]]) } else { (strength, lists) };
        let open = lists.iter().map(Vec::len).sum();
        Self { strength, sizes, lists, open, covered: 0, from: 0 }
    }

    /// The place of what a row holds of one list.
    fn place(&self, cells: &[u8], a: usize, b: usize) -> Option<(usize, usize)> {
        let of = |at: usize| Some(usize::from(cells[at])).filter(|_| cells[at] != UNSET);
        if self.strength == 1 {
            return Some((a, of(a)?));
        }
        let (a, b) = (a.min(b), a.max(b));
        // the lists of the axes before `a` come first
        let list = a * (2 * self.sizes.len() - a - 1) / 2 + (b - a - 1);
        Some((list, of(a)? * self.sizes[b] + of(b)?))
    }

    fn places(&self, cells: &[u8]) -> Vec<(usize, usize)> {
        match self.strength {
            0 => Vec::new(),
            1 => (0..cells.len()).filter_map(|a| self.place(cells, a, a)).collect(),
            _ => pairs(cells.len()).filter_map(|(a, b)| self.place(cells, a, b)).collect(),
        }
    }

    /// What is missing and one more value would bring.
    fn gain(&self, cells: &[u8], at: usize, value: u8) -> usize {
        let mut with = cells.to_vec();
        with[at] = value;
        let open = |place: (usize, usize)| usize::from(self.lists[place.0][place.1]);
        match self.strength {
            0 => 0,
            1 => self.place(&with, at, at).map_or(0, open),
            _ => (0..cells.len()).filter(|b| *b != at).filter_map(|b| self.place(&with, at, b)).map(open).sum(),
        }
    }

    fn gain_of(&self, cells: &[u8]) -> usize {
        self.places(cells).into_iter().filter(|(list, n)| self.lists[*list][*n]).count()
    }

    fn take(&mut self, cells: &[u8]) {
        for (list, n) in self.places(cells) {
            if std::mem::take(&mut self.lists[list][n]) {
                self.open -= 1;
                self.covered += 1;
            }
        }
    }

    fn drop(&mut self, part: &[u8]) {
        for (list, n) in self.places(part) {
            self.open -= usize::from(std::mem::take(&mut self.lists[list][n]));
        }
    }

    /// The first that is missing, as a part of a row.
    fn first(&mut self) -> Option<Cells> {
        while self.from < self.lists.len() {
            if let Some(n) = self.lists[self.from].iter().position(|open| *open) {
                let mut cells = vec![UNSET; self.sizes.len()];
                let small = |n: usize| u8::try_from(n).unwrap_or(UNSET);
                if self.strength == 1 {
                    cells[self.from] = small(n);
                } else if let Some((a, b)) = pairs(self.sizes.len()).nth(self.from) {
                    cells[a] = small(n / self.sizes[b]);
                    cells[b] = small(n % self.sizes[b]);
                }
                return Some(cells);
            }
            self.from += 1;
        }
        None
    }
}

fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |a| (a + 1..n).map(move |b| (a, b)))
}

fn holds(row: &[u8], part: &[u8]) -> bool {
    row.iter().zip(part).all(|(cell, wanted)| *wanted == UNSET || cell == wanted)
}

/// A small generator of numbers (`SplitMix64`): the same seed gives the same rows on every machine.
struct Dice(u64);

// === impl Dice ===

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for n in (1..list.len()).rev() {
            let below = u64::try_from(n + 1).unwrap_or(u64::MAX);
            // smaller than a length, so that it fits
            list.swap(n, usize::try_from(self.next() % below).unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests;
