// SPDX-License-Identifier: GPL-3.0-or-later
//! The child's side of Netdata's streaming handshake: what is asked, and what the answer means.

use std::fmt::Write;
use std::time::Duration;

/// Who asks.
#[derive(Clone, Debug)]
pub struct Child<'a> {
    /// The API key that the parent's `stream.conf` enables.
    pub key: &'a str,
    /// The node's name.
    pub hostname: &'a str,
    /// The node's identity, for ever.
    pub guid: &'a str,
    /// The interval in seconds.
    pub update_every: u32,
    /// `uname -r`.
    pub release: &'a str,
}

impl Child<'_> {
    /// The request. Version 4 is plain text with chart labels, which every parent since v1.31 takes: a larger number
    /// would ask for compression, or be a mask of abilities that an old parent misreads.
    pub fn request(&self) -> String {
        let mut text = String::from("STREAM ");
        let every = self.update_every.to_string();
        let pairs = [
            ("key", self.key),
            ("hostname", self.hostname),
            ("registry_hostname", self.hostname),
            ("machine_guid", self.guid),
            ("update_every", &every),
            ("os", "linux"),
            ("timezone", "UTC"),
            ("abbrev_timezone", "UTC"),
            ("utc_offset", "0"),
            ("hops", "1"),
            ("ver", "4"),
            ("NETDATA_PROTOCOL_VERSION", "1.1"),
            ("NETDATA_SYSTEM_KERNEL_NAME", "Linux"),
            ("NETDATA_SYSTEM_KERNEL_VERSION", self.release),
            ("NETDATA_SYSTEM_ARCHITECTURE", std::env::consts::ARCH),
        ];
        for (place, (name, value)) in pairs.iter().enumerate() {
            let separator = if place == 0 { "" } else { "&" };
            let _ = write!(text, "{separator}{name}={}", encoded(value));
        }
        let _ = write!(
            text,
            " HTTP/1.1\r\nUser-Agent: kmote/{}\r\nAccept: */*\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        );
        text
    }
}

/// A value as a URL has it. The parent splits at `&` and `=` after decoding, so these become `_`.
fn encoded(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => text.push(byte.into()),
            b'&' | b'=' => text.push('_'),
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

/// What the parent says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on: it reads charts and values now.
    Go,
    /// The key is not enabled there, or this address is not allowed.
    Denied,
    /// It has no room now.
    Busy,
    /// It hears this node from somebody else.
    AlreadyStreaming,
    /// It has just started.
    Initializing,
    /// It is this node itself.
    Itself,
    /// Something else.
    NotUnderstood,
}

impl Answer {
    /// Reads an answer, which has no end of its own; `None` when more may come.
    pub fn of(said: &str) -> Option<Self> {
        let known = [
            ("Don't hit me baby", Self::Itself),
            ("Hit me baby, push them over", Self::Go),
            ("not permitted", Self::Denied),
            ("already streaming", Self::AlreadyStreaming),
            ("too busy", Self::Busy),
            ("initializing", Self::Initializing),
            ("HTTP/1.1 401", Self::Denied),
            ("HTTP/1.1 409", Self::AlreadyStreaming),
            ("HTTP/1.1 503", Self::Busy),
            ("internal error", Self::NotUnderstood),
        ];
        known.into_iter().find(|(words, _)| said.contains(words)).map(|(_, answer)| answer)
    }

    /// How long to wait before asking again: as Netdata's own child does.
    pub const fn delay(self) -> Duration {
        Duration::from_secs(match self {
            Self::Go => 0,
            Self::Initializing => 30,
            Self::Denied | Self::NotUnderstood => 60,
            Self::Busy | Self::AlreadyStreaming => 120,
            Self::Itself => 3600,
        })
    }

    /// What it means, and what to do.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Go => "accepted",
            Self::Denied => {
                "the parent does not permit it: enable the key in its stream.conf ([KEY] type = api, enabled = yes)"
            }
            Self::Busy => "the parent is too busy now",
            Self::AlreadyStreaming => {
                "the parent already hears this node: is another kmote or Netdata using its GUID?"
            }
            Self::Initializing => "the parent is starting",
            Self::Itself => {
                "the parent says that this node is itself: remove the GUID file and let kmote make a new one"
            }
            Self::NotUnderstood => "the answer is not understood: is it a Netdata that takes streams?",
        }
    }
}

/// Whether a text is a UUID, as keys and GUIDs are.
pub fn is_uuid(text: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| {
            if dashes.contains(&place) { byte == b'-' } else { byte.is_ascii_hexdigit() }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_is_one_line_of_encoded_pairs() {
        let child =
            Child { key: "k", hostname: "a b&c=d é", guid: "g", update_every: 5, release: "6.1.0-1+x" };
        let request = child.request();
        let (line, rest) = request.split_once("\r\n").unwrap();
        assert!(line.starts_with("STREAM key=k&hostname=a%20b_c_d%20%C3%A9&registry_hostname="), "{line}");
        assert!(line.contains("&machine_guid=g&update_every=5&") && line.contains("&ver=4&"), "{line}");
        assert!(line.contains("KERNEL_VERSION=6.1.0-1%2Bx&") && line.ends_with(" HTTP/1.1"), "{line}");
        assert!(rest.starts_with("User-Agent: kmote/") && rest.ends_with("\r\n\r\n"));
        assert_eq!(line.split('=').count(), 16, "one = a pair");
    }

    #[test]
    fn answers_of_parents_old_and_new() {
        for (said, answer, seconds) in [
            ("Hit me baby, push them over with the version=4", Some(Answer::Go), 0),
            ("Hit me baby, push them over and bring the host labels...", Some(Answer::Go), 0),
            ("Hit me ba", None, 0),
            ("", None, 0),
            ("Don't hit me baby, you are trying to stream my localhost back", Some(Answer::Itself), 3600),
            (
                "HTTP/1.1 401 Unauthorized\r\n\r\nYou are not permitted to access this.",
                Some(Answer::Denied),
                60,
            ),
            ("This GUID is already streaming to this server", Some(Answer::AlreadyStreaming), 120),
            ("The server is too busy now to accept this request. Try later.", Some(Answer::Busy), 120),
            ("The server is initializing. Try later.", Some(Answer::Initializing), 30),
            ("The server encountered an internal error. Try later.", Some(Answer::NotUnderstood), 60),
        ] {
            assert_eq!(Answer::of(said), answer, "{said}");
            assert_eq!(answer.map_or(0, |answer| answer.delay().as_secs()), seconds, "{said}");
        }
    }

    #[test]
    fn uuids() {
        for (text, expected) in [
            ("11111111-2222-3333-4444-555555555555", true),
            ("11111111-2222-3333-4444-55555555555", false),
            ("111111112222-3333-4444-555555555555-", false),
            ("g1111111-2222-3333-4444-555555555555", false),
            ("", false),
        ] {
            assert_eq!(is_uuid(text), expected, "{text}");
        }
    }
}
