// SPDX-License-Identifier: GPL-3.0-or-later
//! The matrix file: which kernels there are, and what is known of each.

use super::machine::Arch;

const TEXT: &str = include_str!("../../kernels");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub name: String,
    pub arch: Arch,
    pub suite: String,
    pub pattern: String,
    pub flags: Vec<String>,
}

impl Kernel {
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }

    /// The modules that are tested on it, where these are not all.
    pub fn only(&self) -> Vec<String> {
        let lists = self.flags.iter().filter_map(|flag| flag.strip_prefix("only="));
        lists.flat_map(|list| list.split(',')).map(str::to_owned).collect()
    }

    /// The value of a flag `key=VALUE`.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.flags.iter().find_map(|f| f.strip_prefix(key)?.strip_prefix('='))
    }

    /// The same if it is a number.
    pub fn number(&self, key: &str) -> Option<u32> {
        self.value(key)?.parse().ok()
    }
}

pub fn kernels() -> Result<Vec<Kernel>, String> {
    parse(TEXT)
}

fn parse(text: &str) -> Result<Vec<Kernel>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.filter(|line| !line.trim().is_empty()).map(parse_line).collect()
}

fn parse_line(line: &str) -> Result<Kernel, String> {
    let mut words = line.split_whitespace().map(str::to_owned);
    let mut next = || words.next().ok_or_else(|| format!("matrix: a field is missing: {line}"));
    let (name, arch, suite, pattern) = (next()?, next()?, next()?, next()?);
    Ok(Kernel { name, arch: arch.parse()?, suite, pattern, flags: words.collect() })
}

/// Whether a package name fits a pattern in which `*` stands for any characters.
pub fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(head) else { return false };
    rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| fits(tail, &rest[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_parses_and_names_are_unique() {
        let kernels = kernels().unwrap();
        let mut names: Vec<_> = kernels.iter().map(|k| k.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), kernels.len());
        assert!(kernels.iter().any(|k| k.has("default")));
    }

    #[test]
    fn flags_carry_numbers() {
        let kernel = parse_line("k amd64 s p* cpus=4 optional").unwrap();
        assert_eq!((kernel.number("cpus"), kernel.number("maxcpus")), (Some(4), None));
        assert!(kernel.has("optional") && !kernel.has("option"));
        assert!(kernel.only().is_empty());
        assert_eq!(parse_line("k amd64 s p* only=a,b").unwrap().only(), ["a", "b"]);
        assert_eq!(parse_line("k amd64 s p* kmote=i686").unwrap().value("kmote"), Some("i686"));
    }

    #[test]
    fn patterns() {
        assert!(fits("linux-image-6.12.*-cloud-amd64", "linux-image-6.12.117+deb13-cloud-amd64"));
        assert!(!fits("linux-image-6.12.*-cloud-amd64", "linux-image-6.12.117+deb13-cloud-amd64-unsigned"));
        assert!(!fits("linux-image-6.12.*-armmp", "linux-image-6.12.117+deb13-armmp-lpae"));
        assert!(fits("a*c", "ac") && fits("*", "") && !fits("a", "ab"));
    }
}
