// SPDX-License-Identifier: GPL-3.0-or-later
//! Patterns of `apps_groups.conf`, against the names and command lines of processes.

/// The kernel keeps so many bytes of a process's name.
pub const NAME: usize = 15;

/// A word of the groups file that processes are matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern<'a> {
    /// As it is written, without quotes; `\` takes the meaning of the byte after it away.
    text: &'a [u8],
}

impl<'a> Pattern<'a> {
    /// The pattern of a word.
    pub const fn new(text: &'a [u8]) -> Self {
        Self { text }
    }

    /// Whether it is matched against the command line: a star at both ends.
    pub fn wants_command_line(&self) -> bool {
        matches!(self.text, [b'*', .., b'*'])
    }

    /// Whether it matches a name or a command line, upper and lower case alike.
    pub fn matches(&self, subject: &[u8]) -> bool {
        if self.wants_command_line() || !self.names_more_than_is_kept() {
            return wild(self.text, subject);
        }
        // The kernel cuts names, people write them out; without a star there is nothing else to cut.
        self.text.get(..NAME).is_some_and(|cut| wild(cut, subject)) || wild(self.text, subject)
    }

    fn names_more_than_is_kept(&self) -> bool {
        self.text.len() > NAME
            && !self.text.get(..NAME).unwrap_or_default().contains(&b'*')
            && !self.text.contains(&b'\\')
    }
}

/// A byte of a pattern.
enum Part {
    Star,
    Byte(u8),
}

/// The part at the pattern's head, and the rest.
fn head(pattern: &[u8]) -> Option<(Part, &[u8])> {
    match pattern {
        [b'*', rest @ ..] => Some((Part::Star, rest)),
        [b'\\', byte, rest @ ..] | [byte, rest @ ..] => Some((Part::Byte(*byte), rest)),
        [] => None,
    }
}

/// Whether `pattern`, in which a star stands for any bytes, matches all of `subject`.
///
/// A star first stands for nothing; where the rest does not fit, the last star takes one byte more. Earlier stars need
/// not be tried again, so it is at most the product of both lengths.
fn wild(pattern: &[u8], subject: &[u8]) -> bool {
    let (mut pattern, mut subject) = (pattern, subject);
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        match (head(pattern), subject) {
            (Some((Part::Star, rest)), _) => {
                retry = Some((rest, subject));
                pattern = rest;
                continue;
            }
            (Some((Part::Byte(wanted), rest)), [byte, others @ ..]) if wanted.eq_ignore_ascii_case(byte) => {
                (pattern, subject) = (rest, others);
                continue;
            }
            (None, []) => return true,
            _ => {}
        }
        match retry {
            Some((after_star, [_, others @ ..])) => {
                retry = Some((after_star, others));
                (pattern, subject) = (after_star, others);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form() {
        for (pattern, subject, expected) in [
            ("nginx", "nginx", true),
            ("nginx", "NGINX", true),
            ("nginx", "nginx2", false),
            ("nginx", "ngin", false),
            ("nginx*", "nginx", true),
            ("nginx*", "nginx-debug", true),
            ("nginx*", "xnginx", false),
            ("*pop3d", "courier-pop3d", true),
            ("*pop3d", "pop3d-ssl", false),
            ("*manage.py*", "python graphite/manage.py run", true),
            ("a*b", "ab", true),
            ("a*b", "axxb", true),
            ("a*b", "axxbc", false),
            ("a*b*c", "abbbbc", true),
            ("*a*a*", "bab", false),
            ("*", "", true),
            ("*", "anything", true),
            ("**", "x", true),
            ("", "", true),
            ("", "x", false),
            (r"Plex\ Media\ Serv", "Plex Media Serv", true),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            (r"a\", r"a\", true),
            ("systemd-journald", "systemd-journal", true),
            ("systemd-journald", "systemd-journald", true),
            ("systemd-journald", "systemd-journ", false),
            ("containerd-shim-runc-v2", "containerd-shim", true),
            ("clickhouse-server*", "clickhouse-serv", true),
            ("*clickhouse-server", "clickhouse-serv", false),
        ] {
            assert_eq!(
                Pattern::new(pattern.as_bytes()).matches(subject.as_bytes()),
                expected,
                "{pattern} {subject}"
            );
        }
    }

    #[test]
    fn bytes_that_are_no_text() {
        assert!(Pattern::new(b"\xff\xfe*").matches(b"\xff\xfe\0x"));
        assert!(!Pattern::new(b"\xff").matches(b"\xfe"));
    }

    #[test]
    fn what_is_matched_against_the_command_line() {
        for (pattern, expected) in [("*x*", true), ("*x", false), ("x*", false), ("*", false), ("**", true)] {
            assert_eq!(Pattern::new(pattern.as_bytes()).wants_command_line(), expected, "{pattern}");
        }
    }
}
