// SPDX-License-Identifier: GPL-3.0-or-later
//! What becomes of a tick's text: sent as it is, or as metrics, or drawn.

use crate::args::{Format, Options};
use crate::exposition;
use crate::options::Command;
use crate::top::{self, Screen};
use crate::view::View;
use kmote_bpf::sys;
use std::fs;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Takes what Netdata would get, and gives what is written.
#[derive(Debug)]
pub struct Sink {
    kind: Kind,
    view: View,
    text: String,
}

#[derive(Debug)]
enum Kind {
    /// Netdata's protocol.
    Stream,
    /// Metrics, to a file or to stdout.
    Metrics(Format, Option<PathBuf>),
    /// A table, drawn again and again; on a terminal in place.
    Top { heading: String, terminal: bool },
    /// One summary.
    Once { json: bool },
}

/// Take a screen of our own, without a cursor; give it back; go to its begin.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";

impl Sink {
    /// What was asked for.
    pub fn new(options: &Options, release: &str, every: u32) -> Self {
        let kind = match (options.command, options.format) {
            (Command::Top, _) => Kind::Top {
                heading: format!(
                    "kmote {} on Linux {release}, every {every} s; ^C ends",
                    env!("CARGO_PKG_VERSION")
                ),
                terminal: io::stdout().is_terminal(),
            },
            (Command::Once, _) => Kind::Once { json: options.json },
            (_, Format::Netdata) => Kind::Stream,
            (_, format) => Kind::Metrics(format, options.output.clone()),
        };
        Self { kind, view: View::default(), text: String::new() }
    }

    /// Whether rates are wanted, and so a tick right after the base.
    pub const fn compares(&self) -> bool {
        matches!(self.kind, Kind::Top { .. } | Kind::Once { .. })
    }

    /// Whether one summary is all.
    pub const fn once(&self) -> bool {
        matches!(self.kind, Kind::Once { .. })
    }

    /// Whether the protocol itself is written.
    pub const fn streams(&self) -> bool {
        matches!(self.kind, Kind::Stream)
    }

    /// The file that is written on each tick.
    pub fn file(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Metrics(_, file) => file.as_deref(),
            _ => None,
        }
    }

    /// What a terminal is prepared with.
    pub const fn begin(&self) -> &'static str {
        if let Kind::Top { terminal: true, .. } = self.kind { ENTER } else { "" }
    }

    /// Takes a page of what Netdata would get; gives what of it is to be written now.
    pub fn take<'a>(&mut self, page: &'a str) -> &'a str {
        if self.streams() {
            return page;
        }
        self.view.take(page);
        ""
    }

    /// Ends a tick; gives what is to be written of it.
    pub fn tick(&mut self) -> io::Result<&str> {
        self.text.clear();
        match &self.kind {
            Kind::Stream => {}
            Kind::Metrics(format, file) => {
                exposition::write(&self.view, *format, &mut self.text);
                if let Some(path) = file {
                    replace(path, &self.text)?;
                    self.text.clear();
                }
            }
            Kind::Top { heading, terminal } => {
                let table = top::draw(&self.view, heading, screen(*terminal));
                self.text = if *terminal { in_place(&table) } else { table + "\n" };
            }
            Kind::Once { json: true } => self.text = top::json(&self.view),
            Kind::Once { json: false } => self.text = top::lines(&self.view),
        }
        Ok(&self.text)
    }

    /// Ends it; gives what is to be written last. Metrics that nobody makes any more are taken away.
    pub fn end(&self) -> &'static str {
        match &self.kind {
            Kind::Top { terminal: true, .. } => LEAVE,
            Kind::Metrics(_, Some(path)) => {
                // It may be gone already.
                let _ = fs::remove_file(path);
                ""
            }
            _ => "",
        }
    }
}

/// Puts a text in the place of a file: whoever reads sees the old one or the new one, whole.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // node_exporter reads what ends in .prom.
    name.push(".new");
    let new = path.with_file_name(name);
    fs::write(&new, text)?;
    fs::rename(&new, path)
}

fn screen(terminal: bool) -> Screen {
    let size = if terminal { sys::window(io::stdout().as_fd()) } else { None };
    let (lines, columns) = size.map_or((None, 80), |(lines, columns)| (Some(lines.into()), columns.into()));
    Screen { columns, lines, unicode: utf8() }
}

/// Each line over the one that was there.
fn in_place(table: &str) -> String {
    HOME.to_owned() + &table.trim_end().replace('\n', "\x1b[K\r\n") + "\x1b[K\x1b[J"
}

/// Whether the terminal shows UTF-8, by the variable that counts.
fn utf8() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = std::env::temp_dir().join(format!("kmote-sink-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("kmote.prom");
        for text in ["one\n", "two\n", ""] {
            replace(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        }
        fs::remove_dir_all(&folder).unwrap();
        assert!(replace(&path, "").is_err());
    }

    #[test]
    fn lines_are_drawn_over_each_other() {
        assert_eq!(in_place("a\nb\n"), "\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J");
    }
}
