// SPDX-License-Identifier: GPL-3.0-or-later
//! The kernel's lists of CPUs, as in `/sys/devices/system/cpu/possible`: `0-3,8`.

/// How many CPUs a list names; `None` when it is not such a list or names none.
///
/// The kernel copies one value for each *possible* CPU into a per-CPU read, so this number and no other
/// sizes the buffer (`bpf_percpu_array_copy` in kernel/bpf/arraymap.c).
pub fn count(list: &[u8]) -> Option<usize> {
    let mut cpus: usize = 0;
    for range in list.trim_ascii().split(|&byte| byte == b',') {
        let mut ends = range.splitn(2, |&byte| byte == b'-');
        let first = number(ends.next()?)?;
        let last = ends.next().map_or(Some(first), number)?;
        cpus = cpus.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(cpus)
}

fn number(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0usize, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        value.checked_mul(10)?.checked_add(usize::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_as_kernels_print_them() {
        for (list, cpus) in [
            ("0\n", Some(1)),
            ("0-1\n", Some(2)),
            ("0-3,8\n", Some(5)),
            ("0,2,4-7", Some(6)),
            ("0-8191", Some(8192)),
            ("", None),
            ("\n", None),
            ("3-1", None),
            ("0-", None),
            ("-1", None),
            ("0,,1", None),
            ("a", None),
            ("0-99999999999999999999", None),
        ] {
            assert_eq!(count(list.as_bytes()), cpus, "{list:?}");
        }
    }
}
