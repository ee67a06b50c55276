// SPDX-License-Identifier: GPL-3.0-or-later
//! Help, manual page and shell completions, made from the table of options.

use crate::options::{COMMANDS, OPTIONS, Operand, OptionRow, SHELLS, VARIABLES};
use kmote_core::modules::MODULES;
use std::fmt::Write;

const SUMMARY: &str = "a tiny collector of kernel metrics by eBPF";

/// What each way to end means, for Netdata too.
const STATUSES: &[(&str, &str)] = &[
    ("0", "it was told to end, or what it wrote to was closed"),
    ("1", "nothing can be collected here, and that will not change by itself"),
    ("2", "the arguments are wrong"),
];

/// How kmote is called.
pub fn help() -> String {
    let mut text = format!("kmote: {SUMMARY}\n\n");
    for row in COMMANDS {
        let call = join(&["kmote", row.word, row.operands]);
        let _ = writeln!(text, "{call:<25} {}", row.does);
    }
    text.push('\n');
    for row in OPTIONS {
        let _ = writeln!(text, "  {:<23} {}", spelled(row, ", "), row.does);
    }
    text += "\nEnvironment:\n";
    for row in VARIABLES {
        let _ = writeln!(text, "  {:<25} {}", row.name, row.says);
    }
    text
}

/// An option as it is written: `-h, --help` or `--modules A,B`.
fn spelled(row: &OptionRow, between: &str) -> String {
    let letter = row.letter.map(|letter| format!("-{letter}{between}")).unwrap_or_default();
    let operand = if row.shown.is_empty() { String::new() } else { format!(" {}", row.shown) };
    format!("{letter}--{}{operand}", row.name)
}

fn join(words: &[&str]) -> String {
    words.iter().copied().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The manual page, in man(7)'s language.
pub fn page() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        ".TH KMOTE 8 \"\" \"kmote {version}\" \"System Administration\"\n\
         .SH NAME\nkmote \\- {SUMMARY}\n.SH SYNOPSIS\n"
    );
    for row in COMMANDS {
        let call = join(&["kmote", row.word]);
        let _ = writeln!(text, ".B {call}\n{}\n.br", join(&[row.operands, "[OPTIONS]"]));
    }
    text += ".SH COMMANDS\n";
    for row in COMMANDS.iter().filter(|row| !row.word.is_empty()) {
        item(&mut text, &join(&[row.word, row.operands]), row.does);
    }
    text += ".SH OPTIONS\n";
    for row in OPTIONS {
        item(&mut text, &spelled(row, ", "), row.does);
    }
    text += ".SH MODULES\n";
    for module in MODULES {
        let charts: Vec<_> = module.charts.iter().map(|chart| chart.id).collect();
        let on = if module.on_by_default { "on by default" } else { "off by default" };
        item(&mut text, module.name, &format!("{on}: {}", charts.join(", ")));
    }
    text += ".SH ENVIRONMENT\n";
    for row in VARIABLES {
        item(&mut text, row.name, row.says);
    }
    text += ".SH FILES\n";
    for (path, what) in crate::config::FILES {
        item(&mut text, path, what);
    }
    text += ".SH EXIT STATUS\n";
    for (status, what) in STATUSES {
        item(&mut text, status, what);
    }
    text
}

fn item(text: &mut String, name: &str, what: &str) {
    let _ = writeln!(text, ".TP\n.B {}\n{}", escaped(name), escaped(what));
}

/// Text that man(7) shows as it stands.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// Completions for one of `SHELLS`.
pub fn completions(shell: &str) -> String {
    match shell {
        "bash" => bash(),
        "zsh" => zsh(),
        _ => fish(),
    }
}

/// The words that may follow an option; none for a file or a number.
fn choices(operand: Operand) -> Vec<&'static str> {
    match operand {
        Operand::OneOf(words) => words.to_vec(),
        Operand::Modules => MODULES.iter().map(|module| module.name).collect(),
        Operand::None | Operand::Number | Operand::File | Operand::Text => Vec::new(),
    }
}

fn command_words() -> Vec<&'static str> {
    COMMANDS.iter().map(|row| row.word).filter(|word| !word.is_empty()).collect()
}

fn bash() -> String {
    let mut cases = String::new();
    for row in OPTIONS {
        let action = match row.operand {
            Operand::None => continue,
            Operand::File => "-f --".to_owned(),
            other => format!("-W '{}' --", choices(other).join(" ")),
        };
        // A list of modules is completed at its last comma.
        let (prefix, word) = match row.operand {
            Operand::Modules => (" -P \"${word%\"${word##*,}\"}\"", "${word##*,}"),
            _ => ("", "$word"),
        };
        let _ = writeln!(
            cases,
            "        --{}) COMPREPLY=($(compgen{prefix} {action} \"{word}\")); return ;;",
            row.name
        );
    }
    let options: Vec<_> = OPTIONS.iter().map(|row| format!("--{}", row.name)).collect();
    format!(
        "# bash completion for kmote\n_kmote() {{\n    local word=${{COMP_WORDS[COMP_CWORD]}}\n    \
         case ${{COMP_WORDS[COMP_CWORD-1]}} in\n{cases}        \
         completions) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n    esac\n    \
         COMPREPLY=($(compgen -W '{} {}' -- \"$word\"))\n}}\ncomplete -F _kmote kmote\n",
        SHELLS.join(" "),
        command_words().join(" "),
        options.join(" ")
    )
}

fn zsh() -> String {
    let mut text = "#compdef kmote\n_arguments \\\n".to_owned();
    for row in OPTIONS {
        let operand = match row.operand {
            Operand::None => String::new(),
            Operand::File => format!(":{}:_files", row.shown),
            Operand::Number | Operand::Text => format!(":{}:", row.shown.replace(':', "\\:")),
            Operand::Modules => {
                format!(":{}:_values -s , module {}", row.shown, choices(row.operand).join(" "))
            }
            Operand::OneOf(words) => format!(":{}:({})", row.shown, words.join(" ")),
        };
        let _ = writeln!(
            text,
            "  '--{}[{}]{operand}' \\",
            row.name,
            row.does.replace('\'', "'\\''").replace(':', "\\:")
        );
    }
    let _ = writeln!(text, "  '1:command:({})' \\", command_words().join(" "));
    let _ = writeln!(text, "  '2:shell:({})'", SHELLS.join(" "));
    text
}

fn fish() -> String {
    let quoted = |text: &str| text.replace('\'', "\\'");
    let mut text = String::from("complete -c kmote -f\n");
    for row in COMMANDS.iter().filter(|row| !row.word.is_empty()) {
        let _ = writeln!(
            text,
            "complete -c kmote -n __fish_use_subcommand -a {} -d '{}'",
            row.word,
            quoted(row.does)
        );
    }
    for row in OPTIONS {
        let letter = row.letter.map(|letter| format!(" -s {letter}")).unwrap_or_default();
        let operand = match row.operand {
            Operand::None => String::new(),
            Operand::File => " -r -F".to_owned(),
            other => format!(" -x -a '{}'", choices(other).join(" ")),
        };
        let _ =
            writeln!(text, "complete -c kmote -l {}{letter}{operand} -d '{}'", row.name, quoted(row.does));
    }
    let _ = writeln!(
        text,
        "complete -c kmote -n '__fish_seen_subcommand_from completions' -a '{}'",
        SHELLS.join(" ")
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    #[test]
    fn help_names_everything_in_80_columns_or_a_little_more() {
        let help = help();
        for row in OPTIONS {
            assert!(help.contains(&format!("--{}", row.name)), "{}", row.name);
        }
        for row in COMMANDS {
            assert!(help.contains(&join(&["kmote", row.word])), "{}", row.word);
        }
        assert!(help.lines().all(|line| line.len() <= 108), "{help}");
    }

    /// Hands `text` to a program that only reads it.
    fn accepted(program: &str, arguments: &[&str], text: &str) -> Option<bool> {
        let mut child =
            Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().ok()?;
        child.stdin.take()?.write_all(text.as_bytes()).ok()?;
        child.wait().ok().map(|status| status.success())
    }

    #[test]
    fn the_shell_takes_its_completions_and_completes() {
        assert_eq!(accepted("bash", &["-n"], &completions("bash")), Some(true));
        let ask = |words: &str, at: usize| {
            let script = format!(
                "{}COMP_WORDS=({words}); COMP_CWORD={at}; _kmote; echo \"${{COMPREPLY[@]}}\"",
                completions("bash")
            );
            let output = Command::new("bash").args(["-c", &script]).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        assert_eq!(ask("kmote che", 1), "check");
        assert_eq!(ask("kmote --only r", 2), "raw_tp");
        assert_eq!(ask("kmote --modules proc", 2), "process");
        assert_eq!(ask("kmote --modules process,cach", 2), "process,cachestat");
        assert_eq!(ask("kmote completions z", 2), "zsh");
        // Where these shells are installed they are asked too.
        assert_ne!(accepted("zsh", &["-n"], &completions("zsh")), Some(false));
        assert_ne!(accepted("fish", &["-n"], &completions("fish")), Some(false));
    }

    #[test]
    fn the_page_is_clean() {
        let page = page();
        for row in OPTIONS {
            assert!(page.contains(&escaped(&format!("--{}", row.name))), "{}", row.name);
        }
        assert!(page.starts_with(".TH KMOTE 8 "));
        // No line is taken for a request by accident.
        let requests = [".TH ", ".SH ", ".B ", ".TP", ".br"];
        for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
            assert!(requests.iter().any(|request| line.starts_with(request)), "{line}");
        }
        assert_ne!(accepted("man", &["--warnings=w", "-l", "-"], &page), Some(false));
    }
}
