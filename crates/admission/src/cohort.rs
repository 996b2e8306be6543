//! Which conversations a canary serves: by a hash that any implementation can repeat.

/// FNV-1a, 64 bits: offset basis and prime.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// Weights count in hundredths of a percent.
const WHOLE: u64 = 10_000;

/// Whether `key` belongs to the canary of `agent` at `version` with `weight` hundredths of a percent.
///
/// Sticky: the same key always gets the same answer, and a raised weight only adds keys. Two agents' canaries do not hit
/// the same keys, since both names are hashed too. Stable across releases: FNV-1a over agent, version and key with a zero
/// byte between them, mixed by the finaliser of MurmurHash3, modulo 10 000. Not meant to withstand a caller who chooses
/// its keys: who may choose a cohort may be in it.
#[must_use]
pub fn in_cohort(agent: &str, version: &str, key: &str, weight: u16) -> bool {
    let mut hash = OFFSET;
    for byte in agent.bytes().chain([0]).chain(version.bytes()).chain([0]).chain(key.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    }
    mixed(hash) % WHOLE < u64::from(weight)
}

/// FNV leaves the last bytes' differences in the low bits; this spreads them.
const fn mixed(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(weight: u16) -> usize {
        (0..10_000).filter(|n| in_cohort("acme/planner", "3.4.1", &format!("task-{n}"), weight)).count()
    }

    #[test]
    fn the_share_is_the_weight() {
        for weight in [0, 100, 500, 2_500, 5_000, 9_900, 10_000] {
            let expected = usize::from(weight);
            // Four standard deviations of 10 000 draws are at most 200.
            let slack = if weight % 10_000 == 0 { 0 } else { 200 };
            assert!(share(weight).abs_diff(expected) <= slack, "{weight}: {}", share(weight));
        }
    }

    #[test]
    fn a_raised_weight_only_adds_keys() {
        for n in 0..1_000 {
            let key = n.to_string();
            let served: Vec<bool> = (0..=100).map(|step| in_cohort("a/b", "1", &key, step * 100)).collect();
            assert!(served.is_sorted(), "{key}");
        }
    }

    #[test]
    fn the_hash_is_frozen() {
        // Computed by another implementation of the description; a change would move running conversations to another version.
        let served: Vec<u16> = ["a", "b", "conversation-1", ""]
            .into_iter()
            .map(|key| (0..=10_000).find(|weight| in_cohort("acme/planner", "3.4.1", key, *weight)).unwrap())
            .collect();
        assert_eq!(served, FROZEN);
    }

    const FROZEN: [u16; 4] = [7438, 9687, 4552, 7279];
}
