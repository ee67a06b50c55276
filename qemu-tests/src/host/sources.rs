// SPDX-License-Identifier: GPL-3.0-or-later
//! The system's own apt configuration: which mirror it uses, and which keys it trusts for it.

use std::fs;
use std::path::{Path, PathBuf};

/// An archive as the system names it: where it is, and the `Signed-By` field as it stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    uri: String,
    suites: Vec<String>,
    signed_by: Option<String>,
}

impl Archive {
    /// A source of this archive for another suite and architecture, in apt's deb822 format.
    pub fn source(&self, suite: &str, arch: &str) -> String {
        let signed_by = self.signed_by.as_ref().map(|s| format!("Signed-By: {s}\n")).unwrap_or_default();
        format!(
            "Types: deb\nURIs: {}\nSuites: {suite}\nComponents: main\nArchitectures: {arch}\n{signed_by}",
            self.uri
        )
    }
}

/// The archive that holds a suite: the system's security archive for `*-security`, else its main archive.
pub fn archive_for(suite: &str) -> Result<Archive, String> {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let codename = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).unwrap_or("sid");
    let archives = configured(Path::new("/etc/apt"));
    pick(&archives, codename.trim_matches('"'), suite)
        .ok_or_else(|| format!("no archive for {suite} in the system's apt configuration"))
}

fn pick(archives: &[Archive], codename: &str, suite: &str) -> Option<Archive> {
    let wanted = if suite.ends_with("-security") {
        vec![format!("{codename}-security"), "stable-security".to_owned(), "testing-security".to_owned()]
    } else {
        [codename, "stable", "testing", "sid", "unstable"].map(str::to_owned).to_vec()
    };
    wanted.iter().find_map(|w| archives.iter().find(|a| a.suites.contains(w)).cloned())
}

fn configured(etc: &Path) -> Vec<Archive> {
    let parts = fs::read_dir(etc.join("sources.list.d")).into_iter().flatten().flatten().map(|e| e.path());
    let mut paths: Vec<PathBuf> = parts.chain([etc.join("sources.list")]).collect();
    paths.sort();
    paths.iter().flat_map(|path| parse_file(path)).collect()
}

fn parse_file(path: &Path) -> Vec<Archive> {
    let text = fs::read_to_string(path).unwrap_or_default();
    match path.extension().and_then(|e| e.to_str()) {
        Some("sources") => text.split("\n\n").filter_map(parse_stanza).collect(),
        Some("list") => text.lines().filter_map(parse_one_line).collect(),
        _ => Vec::new(),
    }
}

fn parse_stanza(stanza: &str) -> Option<Archive> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in stanza.lines().filter(|line| !line.starts_with('#')) {
        // A key block inside of Signed-By goes on in indented lines.
        if line.starts_with([' ', '\t']) {
            let value = &mut fields.last_mut()?.1;
            value.push('\n');
            value.push_str(line);
        } else if let Some((key, value)) = line.split_once(':') {
            fields.push((key.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let field = |key| fields.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
    Some(Archive {
        uri: field("uris")?.split_whitespace().next()?.to_owned(),
        suites: field("suites")?.split_whitespace().map(str::to_owned).collect(),
        signed_by: field("signed-by"),
    })
}

fn parse_one_line(line: &str) -> Option<Archive> {
    let rest = line.trim().strip_prefix("deb ")?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    Some(Archive {
        uri: words.next()?.to_owned(),
        suites: vec![words.next()?.to_owned()],
        signed_by: options.split_whitespace().find_map(|o| o.strip_prefix("signed-by=")).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEB822: &str = "# comment\nTypes: deb\nURIs: http://mirror.test/debian\nSuites: bookworm bookworm-updates\n\
        Components: main\nSigned-By: /k.gpg";

    #[test]
    fn both_formats() {
        let stanza = parse_stanza(DEB822).unwrap();
        let line =
            parse_one_line("deb [arch=amd64 signed-by=/k.gpg] http://mirror.test/debian bookworm main")
                .unwrap();
        assert_eq!((&stanza.uri, &stanza.signed_by), (&line.uri, &line.signed_by));
        assert_eq!(parse_one_line("# deb http://mirror.test/debian bookworm main"), None);
    }

    #[test]
    fn a_suite_comes_from_the_archive_of_its_kind() {
        let archive =
            |uri: &str, suite: &str| Archive { uri: uri.into(), suites: vec![suite.into()], signed_by: None };
        let all =
            [archive("other", "nodistro"), archive("main", "bookworm"), archive("sec", "bookworm-security")];
        assert_eq!(pick(&all, "bookworm", "trixie").unwrap().uri, "main");
        assert_eq!(pick(&all, "bookworm", "bullseye-security").unwrap().uri, "sec");
        assert_eq!(pick(&all[..1], "bookworm", "trixie"), None);
    }
}
