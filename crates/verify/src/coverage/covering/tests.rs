use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::coverage::space::{Axis, Constraint, Rule};

fn name(kind: &str, n: usize) -> String {
    format!("{kind}{n}")
}

/// `sizes.len()` axes with so many values each.
fn plain(sizes: &[usize]) -> Space {
    let axis = |(n, size): (usize, &usize)| Axis {
        name: name("axis", n),
        values: (0..*size).map(|v| name("value", v)).collect(),
    };
    Space { axes: sizes.iter().enumerate().map(axis).collect(), constraints: Vec::new() }
}

fn every_row(space: &Space) -> Vec<Row> {
    let names: Vec<&str> = space.axes.iter().map(|a| a.name.as_str()).collect();
    product(space, &names).unwrap()
}

/// What a constraint says, read word by word: the tests' own reading beside that of the solver.
fn ruled_out(row: &Row, constraint: &Constraint) -> bool {
    match &constraint.rule {
        Rule::Never(cells) => cells.iter().all(|(axis, values)| values.contains(&row[axis])),
        Rule::Only { axes, rows } => !rows.iter().any(|of| axes.iter().zip(of).all(|(a, v)| row[a] == *v)),
    }
}

fn parts_of(rows: &[Row], strength: u8) -> BTreeSet<Row> {
    let mut out = BTreeSet::new();
    for row in rows {
        let cells: Vec<(&String, &String)> = row.iter().collect();
        let part =
            |cells: &[(&String, &String)]| cells.iter().map(|(a, v)| ((*a).clone(), (*v).clone())).collect::<Row>();
        if strength == 1 || cells.len() == 1 {
            out.extend(cells.iter().map(|c| part(&[*c])));
        } else {
            out.extend(pairs(cells.len()).map(|(a, b)| part(&[cells[a], cells[b]])));
        }
    }
    out
}

fn any_space() -> impl Strategy<Value = Space> {
    let rule = (any::<bool>(), vec((0..5_usize, vec(0..4_usize, 1..3)), 1..4), vec(vec(0..4_usize, 2), 1..6));
    (vec(1..5_usize, 1..6), vec(rule, 0..6)).prop_map(|(sizes, rules)| {
        let mut space = plain(&sizes);
        let value = |axis: usize, v: usize| name("value", v % sizes[axis]);
        for (n, (never, cells, rows)) in rules.into_iter().enumerate() {
            let (a, b) = (cells[0].0 % sizes.len(), (cells[0].0 + 1) % sizes.len());
            let rule = if never || a == b {
                let cell = |(axis, values): (usize, Vec<usize>)| {
                    let axis = axis % sizes.len();
                    (name("axis", axis), values.into_iter().map(|v| value(axis, v)).collect())
                };
                Rule::Never(cells.into_iter().map(cell).collect())
            } else {
                let row = |row: Vec<usize>| vec![value(a, row[0]), value(b, row[1])];
                Rule::Only { axes: vec![name("axis", a), name("axis", b)], rows: rows.into_iter().map(row).collect() }
            };
            space.constraints.push(Constraint { name: name("rule", n), rule });
        }
        space
    })
}

proptest! {
    #[test]
    fn every_pair_that_can_be_is_covered_and_every_other_is_named(space in any_space(), seed: u64, strength in 1..3_u8) {
        let covering = cover(&space, &Demand { strength, parts: Vec::new() }, seed).unwrap();
        let all = every_row(&space);
        let sound = |row: &Row| !space.constraints.iter().any(|c| ruled_out(row, c));
        prop_assert!(covering.rows.iter().all(|row| row.len() == space.axes.len() && sound(row)), "{covering:?}");
        let possible: Vec<Row> = all.iter().filter(|row| sound(row)).cloned().collect();
        let (wanted, covered) = (parts_of(&possible, strength), parts_of(&covering.rows, strength));
        prop_assert_eq!(&covered, &wanted);
        prop_assert_eq!(covering.feasible, wanted.len());
        let told: BTreeSet<Row> = covering.infeasible.iter().map(|i| i.part.clone()).collect();
        let impossible: BTreeSet<Row> = parts_of(&all, strength).difference(&wanted).cloned().collect();
        prop_assert_eq!(&told, &impossible);
        prop_assert_eq!(told.len(), covering.infeasible.len());
        // the constraints that are named are enough to rule the part out
        for Infeasible { part, because } in &covering.infeasible {
            prop_assert!(!because.is_empty());
            let named: Vec<&Constraint> = space.constraints.iter().filter(|c| because.contains(&c.name)).collect();
            let with = all.iter().filter(|row| part.iter().all(|(a, v)| row[a] == *v));
            prop_assert!(with.into_iter().all(|row| named.iter().any(|c| ruled_out(row, c))));
        }
    }

    #[test]
    fn parts_that_are_demanded_are_in_some_row(space in any_space(), seed: u64, picks in vec(vec((0..5_usize, 0..4_usize), 1..5), 1..5)) {
        let part = |cells: &Vec<(usize, usize)>| -> Row {
            let cell = |(a, v): &(usize, usize)| {
                let axis = &space.axes[a % space.axes.len()];
                (axis.name.clone(), axis.values[v % axis.values.len()].clone())
            };
            cells.iter().map(cell).collect()
        };
        let parts: Vec<Row> = picks.iter().map(part).collect();
        let covering = cover(&space, &Demand { strength: 0, parts: parts.clone() }, seed).unwrap();
        for part in parts {
            let inside = covering.rows.iter().any(|row| part.iter().all(|(a, v)| row[a] == *v));
            prop_assert!(inside != covering.infeasible.iter().any(|i| i.part == part), "{part:?} in {covering:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_rows(space in any_space(), seed: u64) {
        let demand = Demand { strength: 2, parts: Vec::new() };
        prop_assert_eq!(cover(&space, &demand, seed).unwrap(), cover(&space, &demand, seed).unwrap());
    }
}

#[test]
fn pairs_take_a_fraction_of_the_product() {
    let pairwise = Demand { strength: 2, parts: Vec::new() };
    // the bound is what is measured, with some room; a pair of axes needs the product of both at least
    for (sizes, least, most) in [
        (&[3; 4][..], 9, 12),
        (&[3; 13], 9, 24),
        (&[4, 4, 3, 2, 2, 2], 16, 20),
        (&[2; 10], 4, 10),
        (&[10; 5], 100, 165),
    ] {
        let space = plain(sizes);
        let found = cover(&space, &pairwise, 1).unwrap().rows.len();
        assert!((least..=most).contains(&found), "{sizes:?}: {found} rows of {}", space.product());
    }
}

/// Twelve axes of thirty values: 59,400 pairs of 5 × 10^17 rows, with the constraints of a real space.
#[test]
#[expect(clippy::disallowed_methods, reason = "the bound is on real time")]
fn a_large_space_is_covered_in_time() {
    let mut space = plain(&[30; 12]);
    for n in 0..11 {
        let (one, other) = (name("axis", n), name("axis", n + 1));
        space = space.never(&name("rule", n), &[(&one, &["value0"]), (&other, &["value1", "value2"])]);
    }
    let begun = std::time::Instant::now();
    let covering = cover(&space, &Demand { strength: 2, parts: Vec::new() }, 1).unwrap();
    let took = begun.elapsed();
    assert_eq!((covering.feasible, covering.infeasible.len()), (59_400 - 22, 22));
    assert!((900..=1_800).contains(&covering.rows.len()), "{} rows", covering.rows.len());
    // a build for tests on a machine that does other things, too: a release build takes a fifteenth of it
    assert!(took < std::time::Duration::from_secs(30), "{took:?}");
}

#[test]
fn what_is_ruled_out_says_by_what() {
    let space = Space::default()
        .axis("binding", ["JSON-RPC", "gRPC"])
        .axis("mode", ["blocking", "stream"])
        .axis("wrong", ["nothing", "envelope"])
        .never("gRPC has no envelope", &[("binding", &["gRPC"]), ("wrong", &["envelope"])])
        .never("no stream is declared", &[("mode", &["stream"])]);
    let covering = cover(&space, &Demand { strength: 2, parts: Vec::new() }, 7).unwrap();
    let why = |a: (&str, &str), b: (&str, &str)| {
        let part: Row = [a, b].map(|(axis, value)| (axis.to_owned(), value.to_owned())).into();
        covering.infeasible.iter().find(|i| i.part == part).map(|i| i.because.clone())
    };
    assert_eq!(why(("binding", "gRPC"), ("wrong", "envelope")), Some(vec!["gRPC has no envelope".to_owned()]));
    assert_eq!(why(("binding", "gRPC"), ("mode", "stream")), Some(vec!["no stream is declared".to_owned()]));
    assert_eq!(why(("binding", "gRPC"), ("mode", "blocking")), None);
}

#[test]
fn what_is_too_large_or_unknown_is_refused() {
    let pairwise = Demand { strength: 2, parts: Vec::new() };
    assert!(matches!(cover(&plain(&[2; 17]), &pairwise, 0), Err(SpaceError::TooLarge { what: "axes", .. })));
    assert!(matches!(cover(&plain(&[65]), &pairwise, 0), Err(SpaceError::TooLarge { what: "values", .. })));
    assert_eq!(cover(&plain(&[2, 0]), &pairwise, 0), Err(SpaceError::Empty("axis1".to_owned())));
    let unknown = Demand { strength: 0, parts: vec![[("mode".to_owned(), "blocking".to_owned())].into()] };
    assert_eq!(cover(&plain(&[2, 2]), &unknown, 0), Err(SpaceError::Unknown("mode".to_owned())));
    assert!(product(&plain(&[60; 3]), &["axis0", "axis1", "axis2"]).is_err());
}
