//! Did-you-mean: the known word nearest to what was written.

/// A hint for an unknown word: the nearest known one, else all of them where they are few.
pub(crate) fn did_you_mean(word: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|k| (distance(word, k), *k)).min();
    match nearest {
        // A third of the word may be wrong: fewer misses real typos, more proposes unrelated words.
        Some((far, k)) if far <= (k.chars().count() / 3).max(1) => format!("did you mean `{k}`?"),
        Some(_) if known.len() <= 12 => format!("known here: {}", known.join(", ")),
        _ => "see the file kind's JSON Schema for what is known here".to_owned(),
    }
}

/// The number of single edits, a swap of neighbours counting as one, between two words; long words are cut, since only
/// small distances matter.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).take(64).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(ca != cb);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *ca == b[j - 1] && a[i - 1] == *cb {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_near_and_strangers_are_not() {
        let known = ["contract_id", "contract_version", "producer"];
        assert_eq!(did_you_mean("contract_di", &known), "did you mean `contract_id`?");
        assert_eq!(did_you_mean("Producer", &known), "did you mean `producer`?");
        assert_eq!(did_you_mean("colour", &known), "known here: contract_id, contract_version, producer");
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("ab", "ba"), 1);
    }
}
