// SPDX-License-Identifier: GPL-3.0-or-later
//! `apps_groups.conf`: which group a process belongs to, by its name and its command line.

use super::pattern::Pattern;
use heapless::Vec;

/// The group of what belongs to no other.
pub const OTHER: u16 = 0;
/// The most groups, with `other`.
pub const MAX_GROUPS: usize = 201;
/// The most patterns of a file: the stock one has under 600.
pub const MAX_PATTERNS: usize = 4096;
/// The most managers and interpreters.
const MAX_LISTED: usize = 64;

/// Processes whose children are not of their group, unless the file says otherwise.
const MANAGERS: &[&str] = &[
    "init",
    "systemd",
    "containerd-shim-runc-v2",
    "dumb-init",
    "gnome-shell",
    "docker-init",
    "tini",
    "spawn-plugins",
    "openrc-run.sh",
    "crond",
    "plasmashell",
    "xfwm4",
];
/// Processes that are named after the script they run, unless the file says otherwise.
const INTERPRETERS: &[&str] = &[
    "python", "python2", "python3", "sh", "bash", "zsh", "dash", "csh", "tcsh", "ksh", "node", "perl", "awk",
];

/// The groups where no file is found.
pub const BUILT_IN: &[u8] = b"\
kernel: kthreadd
netdata: netdata kmote kmote.plugin apps.plugin
ssh: ssh* scp
httpd: apache* httpd nginx* caddy
sql: mysqld* mariad* postgres*
nosql: redis* mongod memcached
containers: dockerd containerd* podman conmon
logs: rsyslog* systemd-journald
build: cc1* ld make gcc* g++* rustc cargo
";

/// What was found in a file that could not be taken as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Patterns of groups beyond the last that there is room for; what they match belongs to `other`.
    pub groups: u32,
    /// Patterns, managers and interpreters that there is no room for.
    pub patterns: u32,
    /// Lines without a name or without a pattern.
    pub lines: u32,
    /// Names and patterns that begin with `-` or `+`, which meant something to older readers.
    pub prefixes: u32,
}

#[derive(Clone, Copy, Debug)]
struct Rule<'a> {
    pattern: Pattern<'a>,
    group: u16,
}

/// A process's place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A manager: of no group, and its children are not its own.
    Manager,
    /// Named by a pattern of this group.
    Member(u16),
    /// Not named: it is of its parent's group.
    Unnamed,
}

/// The groups of a file.
#[derive(Debug)]
pub struct Groups<'a> {
    names: Vec<&'a [u8], MAX_GROUPS>,
    rules: Vec<Rule<'a>, MAX_PATTERNS>,
    managers: Vec<Pattern<'a>, MAX_LISTED>,
    interpreters: Vec<Pattern<'a>, MAX_LISTED>,
    /// What could not be taken.
    pub faults: Faults,
}

impl<'a> Groups<'a> {
    /// Reads a file.
    pub fn parse(text: &'a [u8]) -> Self {
        let listed =
            |names: &[&'static str]| names.iter().map(|name| Pattern::new(name.as_bytes())).collect();
        let mut groups = Self {
            names: Vec::new(),
            rules: Vec::new(),
            managers: listed(MANAGERS),
            interpreters: listed(INTERPRETERS),
            faults: Faults::default(),
        };
        let _ = groups.names.push(b"other");
        text.split(|byte| *byte == b'\n').for_each(|line| groups.take_line(line));
        groups
    }

    fn take_line(&mut self, line: &'a [u8]) {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return;
        }
        let (name, rest) = name_of(line);
        let name = self.without_prefixes(name);
        let patterns = Words(rest);
        match name {
            b"" => self.faults.lines += 1,
            b"managers" => take_list(&mut self.managers, patterns, &mut self.faults),
            b"interpreters" => take_list(&mut self.interpreters, patterns, &mut self.faults),
            name => self.take_group(name, patterns),
        }
    }

    fn take_group(&mut self, name: &'a [u8], patterns: Words<'a>) {
        let (mut group, mut any) = (None, false);
        for word in patterns {
            any = true;
            let word = self.without_prefixes(word);
            let group = *group.get_or_insert_with(|| self.group_named(name));
            self.faults.groups += u32::from(group == OTHER && !same(name, b"other"));
            let rule = Rule { pattern: Pattern::new(word), group };
            self.faults.patterns += u32::from(self.rules.push(rule).is_err());
        }
        self.faults.lines += u32::from(!any);
    }

    /// The group of this name, new if need be; `OTHER` when there is no room.
    fn group_named(&mut self, name: &'a [u8]) -> u16 {
        let place = self.names.iter().position(|known| same(known, name)).or_else(|| {
            self.names.push(name).ok()?;
            Some(self.names.len() - 1)
        });
        place.and_then(|place| u16::try_from(place).ok()).unwrap_or(OTHER)
    }

    fn without_prefixes(&mut self, word: &'a [u8]) -> &'a [u8] {
        let kept = word.iter().position(|byte| !b"-+".contains(byte)).unwrap_or(word.len());
        self.faults.prefixes += u32::from(kept > 0);
        word.get(kept..).unwrap_or_default()
    }

    /// How many groups there are, with `other`.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// A group's name, as the label shows it.
    pub fn name(&self, group: u16) -> &[u8] {
        self.names.get(usize::from(group)).copied().unwrap_or(b"other")
    }

    /// Where a process stands; `command_line` is asked for only if a pattern needs it before another one matches.
    pub fn standing<'b>(&self, name: &[u8], command_line: impl FnOnce() -> Option<&'b [u8]>) -> Standing {
        let listed = |patterns: &[Pattern<'_>]| patterns.iter().any(|pattern| pattern.matches(name));
        if listed(&self.managers) {
            return Standing::Manager;
        }
        let (mut ask, mut told) = (Some(command_line), None);
        let mut line = || {
            if let Some(ask) = ask.take() {
                told = ask();
            }
            told
        };
        let script = if listed(&self.interpreters) { line().and_then(script) } else { None };
        let matches = |rule: &&Rule<'_>| match rule.pattern.wants_command_line() {
            true => line().is_some_and(|line| rule.pattern.matches(line)),
            false => rule.pattern.matches(name) || script.is_some_and(|script| rule.pattern.matches(script)),
        };
        self.rules.iter().find(matches).map_or(Standing::Unnamed, |rule| Standing::Member(rule.group))
    }
}

/// The name of what an interpreter runs: the last part of its first argument that is an absolute path.
fn script(command_line: &[u8]) -> Option<&[u8]> {
    let mut arguments = command_line.split(|byte| b" \0".contains(byte)).skip(1);
    arguments.find(|argument| argument.starts_with(b"/"))?.rsplit(|byte| *byte == b'/').next()
}

/// Whether two names make the same chart.
fn same(a: &[u8], b: &[u8]) -> bool {
    chart_name(a).eq(chart_name(b))
}

/// A group's name as a part of a chart's id: as `clean` has it, and dots, which end a chart's type, as `_`.
pub fn chart_name(name: &[u8]) -> impl Iterator<Item = char> {
    crate::table::clean(name).map(|letter| if letter == '.' { '_' } else { letter })
}

/// The group's name of a line, up to the first colon, and what follows; without a colon the first word is the name.
fn name_of(line: &[u8]) -> (&[u8], &[u8]) {
    let cut = |at: usize| (line.get(..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default());
    match line.iter().position(|byte| *byte == b':') {
        Some(colon) => {
            let (name, rest) = cut(colon);
            (unquoted(name.trim_ascii()), rest)
        }
        None => cut(line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len())),
    }
}

fn unquoted(word: &[u8]) -> &[u8] {
    match word {
        [open @ (b'\'' | b'"'), inner @ .., close] if open == close => inner,
        word => word,
    }
}

/// `clear` alone empties a list; else the words are added to it.
fn take_list<'a>(list: &mut Vec<Pattern<'a>, MAX_LISTED>, words: Words<'a>, faults: &mut Faults) {
    if words.clone().eq([b"clear".as_slice()]) {
        return list.clear();
    }
    for word in words {
        faults.patterns += u32::from(list.push(Pattern::new(word)).is_err());
    }
}

/// The words of the rest of a line: parted by blanks and colons, perhaps in quotes, up to a comment.
#[derive(Clone)]
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    /// Takes the next word, which may be empty in quotes.
    fn take(&mut self) -> Option<&'a [u8]> {
        let begin = self.0.iter().position(|byte| !parts_words(byte))?;
        let rest = self.0.get(begin..)?;
        let (word, after) = match *rest.first()? {
            b'#' => return None,
            quote @ (b'\'' | b'"') => {
                let inner = rest.get(1..)?;
                let end = inner.iter().position(|byte| *byte == quote).unwrap_or(inner.len());
                (inner.get(..end)?, inner.get(end + 1..).unwrap_or_default())
            }
            _ => rest.split_at_checked(bare_length(rest))?,
        };
        self.0 = after;
        Some(word)
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            match self.take()? {
                b"" => {}
                word => return Some(word),
            }
        }
    }
}

fn parts_words(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || *byte == b':'
}

/// The length of a word without quotes, in which `\ ` is no end.
fn bare_length(text: &[u8]) -> usize {
    let mut escaped = false;
    let ends = |byte: &u8| {
        let ends = parts_words(byte) && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    };
    text.iter().position(ends).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(file: &str, name: &str, command_line: Option<&str>) -> Option<String> {
        let groups = Groups::parse(file.as_bytes());
        match groups.standing(name.as_bytes(), || command_line.map(str::as_bytes)) {
            Standing::Manager => Some("(manager)".to_owned()),
            Standing::Member(group) => Some(String::from_utf8_lossy(groups.name(group)).into_owned()),
            Standing::Unnamed => None,
        }
    }

    #[test]
    fn lines_as_people_write_them() {
        for (file, name, command_line, expected) in [
            ("httpd: nginx* apache", "nginx-debug", None, Some("httpd")),
            ("httpd nginx", "nginx", None, Some("httpd")),
            ("httpd:\tnginx\tapache\r\n", "apache", None, Some("httpd")),
            ("a: x\nb: x", "x", None, Some("a")),
            ("a: x\nb: y\na: z", "z", None, Some("a")),
            ("web server: nginx", "nginx", None, Some("web server")),
            ("'web server': nginx", "nginx", None, Some("web server")),
            ("plex: 'Plex Media Serv'", "Plex Media Serv", None, Some("plex")),
            ("plex: \"Plex Media Serv\" x", "x", None, Some("plex")),
            (r"plex: Plex\ Media\ Serv", "Plex Media Serv", None, Some("plex")),
            ("plex: Plex Media Serv", "Plex Media Serv", None, None),
            ("# a: x", "x", None, None),
            ("a: x # y", "y", None, None),
            ("a: x#y", "x#y", None, Some("a")),
            ("a:b:c", "c", None, Some("a")),
            (" : x", "x", None, None),
            ("a:", "a", None, None),
            ("a: '' x", "x", None, Some("a")),
            ("a: 'x", "x", None, Some("a")),
            ("-a: +x -*y", "zy", None, Some("a")),
            ("other: x\na: x", "x", None, Some("other")),
            ("a: *serve.py*", "python3", Some("python3 /opt/serve.py --port 1"), Some("a")),
            ("a: *serve.py*", "python3", None, None),
            ("a: serve.py", "python3", Some("python3 -u /opt/serve.py --port 1"), Some("a")),
            ("a: serve.py", "python3", Some("python3 serve.py"), None),
            ("interpreters: clear\na: serve.py", "python3", Some("python3 /opt/serve.py"), None),
            ("interpreters: ruby\na: app.rb", "ruby", Some("ruby /srv/app.rb"), Some("a")),
            ("a: *", "systemd", None, Some("(manager)")),
            ("managers: clear\na: *", "systemd", None, Some("a")),
            ("managers: runit\na: *", "runit", None, Some("(manager)")),
        ] {
            assert_eq!(standing(file, name, command_line).as_deref(), expected, "{file:?} {name}");
        }
    }

    #[test]
    fn the_command_line_is_read_only_if_a_pattern_needs_it() {
        let groups = Groups::parse(b"a: x\nb: *y*\nc: z");
        let mut asked = 0;
        let mut standing = |name: &[u8]| {
            let standing = groups.standing(name, || {
                asked += 1;
                Some(b"-y-".as_slice())
            });
            (standing, asked)
        };
        assert_eq!(standing(b"x"), (Standing::Member(1), 0));
        assert_eq!(standing(b"z"), (Standing::Member(2), 1));
    }

    #[test]
    fn what_does_not_fit_is_counted_and_belongs_to_other() {
        let lines = (0..5000).map(|nr| format!("g{nr}: p{nr} -q{nr}\n")).collect::<String>();
        let groups = Groups::parse(lines.as_bytes());
        assert_eq!((groups.count(), groups.name(200)), (201, b"g199".as_slice()));
        let faults = Faults { groups: 2 * 4800, patterns: 10_000 - 4096, lines: 0, prefixes: 5000 };
        assert_eq!(groups.faults, faults);
        assert_eq!(groups.standing(b"p199", || None), Standing::Member(200));
        assert_eq!(groups.standing(b"p200", || None), Standing::Member(OTHER));
        assert_eq!(Groups::parse(b" : x\na:\nb\n").faults.lines, 3);
        assert_eq!(Groups::parse(b"a: other\nother: y").faults, Faults::default());
    }

    #[test]
    fn names_that_make_the_same_chart_are_one_group() {
        let groups = Groups::parse(b"web server: x\nweb_server: y\nweb.server: z");
        assert_eq!(groups.count(), 2);
        assert_eq!(chart_name(b"go.d plugin\xff").collect::<String>(), "go_d_plugin_");
    }

    #[test]
    fn the_built_in_groups_have_no_fault() {
        let groups = Groups::parse(BUILT_IN);
        assert_eq!((groups.count(), groups.faults), (10, Faults::default()));
    }
}
