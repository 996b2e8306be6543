//! Medians and percentiles.

/// The median; the mean of the middle two of an even number. Zero of none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The value below which `share` of the values lie. Zero of none.
pub fn percentile(values: &mut [u32], share: f64) -> u32 {
    values.sort_unstable();
    let last = values.len().saturating_sub(1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length is an index")]
    let at = (last as f64 * share).round() as usize;
    values.get(at).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        assert_eq!(median(vec![3.0, 1.0, 100.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 100.0]), 3.0);
        assert_eq!(median(vec![]), 0.0);
    }

    #[test]
    fn a_percentile_is_a_value_that_occurred() {
        let mut values: Vec<u32> = (0..=100).rev().collect();
        assert_eq!(percentile(&mut values, 0.99), 99);
        assert_eq!(percentile(&mut values, 0.5), 50);
        assert_eq!(percentile(&mut [], 0.5), 0);
    }
}
