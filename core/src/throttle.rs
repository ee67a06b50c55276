// SPDX-License-Identifier: GPL-3.0-or-later
//! Each distinct complaint once an hour.

/// For how many seconds a complaint that was made is not made again.
pub const PAUSE: u64 = 3600;

/// How many distinct complaints are remembered.
const PLACES: usize = 32;

/// Which complaints were made, and when.
#[derive(Debug, Default)]
pub struct Throttle {
    made: [Option<(u64, u64)>; PLACES],
}

impl Throttle {
    /// Whether this complaint may be made now, at a second of a steady clock; if so, it counts as made.
    ///
    /// When there are more complaints than are remembered, the oldest is forgotten, so that a new one is never lost.
    pub fn allows(&mut self, complaint: &str, now: u64) -> bool {
        let hash = hash(complaint);
        let recent = |(_, at): &(u64, u64)| now.saturating_sub(*at) < PAUSE;
        let known = self.made.iter_mut().find(|place| place.is_some_and(|(made, _)| made == hash));
        if let Some(place) = known {
            let allowed = !place.as_ref().is_some_and(recent);
            if allowed {
                *place = Some((hash, now));
            }
            return allowed;
        }
        if let Some(place) = self.made.iter_mut().min_by_key(|place| place.map_or(0, |(_, at)| at + 1)) {
            *place = Some((hash, now));
        }
        true
    }
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_made_once_an_hour() {
        let mut throttle = Throttle::default();
        for (second, complaint, expected) in [
            (5, "a", true),
            (6, "a", false),
            (6, "b", true),
            (5 + PAUSE - 1, "a", false),
            (5 + PAUSE, "a", true),
            (6 + PAUSE, "a", false),
            (6 + PAUSE, "b", true),
        ] {
            assert_eq!(throttle.allows(complaint, second), expected, "{complaint} at {second}");
        }
    }

    #[test]
    fn five_minutes_of_one_fault_a_second_are_one_line() {
        let mut throttle = Throttle::default();
        assert_eq!((0..300).filter(|second| throttle.allows("map cannot be read", *second)).count(), 1);
    }

    #[test]
    fn the_oldest_is_forgotten_for_a_new_one() {
        let mut throttle = Throttle::default();
        for place in 0..=PLACES as u64 {
            assert!(throttle.allows(&place.to_string(), place));
        }
        assert!(!throttle.allows("1", PLACES as u64), "the second is still known");
        assert!(throttle.allows("0", PLACES as u64), "the first was forgotten");
    }
}
