// SPDX-License-Identifier: GPL-3.0-or-later
//! Numbers with decimals for views, as whole billionths: what formats floating-point numbers takes 20 KB of a binary.

use std::fmt;
use std::iter::Sum;

const DECIMALS: usize = 9;
const ONE: i128 = 1_000_000_000;

/// A number with nine decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(i128);

impl Number {
    /// So many.
    pub const fn of(whole: i64) -> Self {
        Self(whole as i128 * ONE)
    }

    /// So many times as much, by a fraction; nothing of it where that has no value.
    pub const fn times(self, numerator: i64, denominator: i64) -> Self {
        match self.0.saturating_mul(numerator as i128).checked_div(denominator as i128) {
            Some(billionths) => Self(billionths),
            None => Self(0),
        }
    }

    /// Without its sign.
    pub const fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }

    /// The whole nearest to it; of a negative one 0.
    pub fn rounded(self) -> usize {
        usize::try_from(self.0.saturating_add(ONE / 2) / ONE).unwrap_or(0)
    }

    /// Whether it has no decimals.
    pub const fn is_whole(self) -> bool {
        self.0 % ONE == 0
    }
}

impl Sum for Number {
    fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
        Self(numbers.fold(0, |sum, number| sum.saturating_add(number.0)))
    }
}

/// With as many decimals as are asked for, else with those that it has.
impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = out.precision().unwrap_or(DECIMALS).min(DECIMALS);
        let unit = 10u128.pow((DECIMALS - decimals) as u32);
        let rounded = self.0.unsigned_abs().saturating_add(unit / 2) / unit;
        let one = 10u128.pow(decimals as u32);
        // In 64 bits, for which there is a formatter anyway.
        let whole = u64::try_from(rounded / one).unwrap_or(u64::MAX);
        let digits = format!("{:0decimals$}", (rounded % one) as u64);
        let digits = match out.precision() {
            Some(0) => "",
            Some(_) => digits.as_str(),
            None => digits.trim_end_matches('0'),
        };
        let sign = if self.0 < 0 { "-" } else { "" };
        let point = if digits.is_empty() { "" } else { "." };
        write!(out, "{sign}{whole}{point}{digits}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_as_decimals() {
        for (number, all, three, none) in [
            (Number::of(0), "0", "0.000", "0"),
            (Number::of(-3), "-3", "-3.000", "-3"),
            (Number::of(2).times(1, 3), "0.666666666", "0.667", "1"),
            (Number::of(-5).times(1, 2), "-2.5", "-2.500", "-3"),
            (Number::of(1_999_999).times(1, 1_000_000), "1.999999", "2.000", "2"),
            (Number::of(1).times(1, 1_000_000_000), "0.000000001", "0.000", "0"),
            (Number::of(i64::MAX), "9223372036854775807", "9223372036854775807.000", "9223372036854775807"),
            (Number::of(7).times(1, 0), "0", "0.000", "0"),
        ] {
            assert_eq!(number.to_string(), all);
            assert_eq!(format!("{number:.3}"), three);
            assert_eq!(format!("{number:.0}"), none);
        }
    }

    #[test]
    fn sums_and_wholes() {
        let half = Number::of(1).times(1, 2);
        assert_eq!([half, half, Number::of(-3)].into_iter().sum::<Number>(), Number::of(-2));
        assert_eq!([half, Number::of(2), Number::of(-2)].map(Number::rounded), [1, 2, 0]);
        assert_eq!([half, Number::of(2)].map(Number::is_whole), [false, true]);
        assert!(half < Number::of(1) && half.abs() == Number::of(-1).times(1, 2).abs());
    }
}
