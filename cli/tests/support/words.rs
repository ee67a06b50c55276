// SPDX-License-Identifier: GPL-3.0-or-later
//! Words of a line of Netdata's plugin protocol, stricter than Netdata reads them.

/// Netdata 1.37 reads no more words of a line than these; newer ones read 30.
pub const MOST_WORDS: usize = 20;
/// Netdata's buffer holds about 15.6 KiB; a line, its end included, stays below this.
pub const MOST_BYTES: usize = 15 * 1024;

/// Splits a line without its LF at blanks and at `=`, as Netdata does, quotes taken off.
///
/// What Netdata would read in a surprising way is refused: characters beyond printable ASCII, a
/// backslash, an open quote, a quote in the middle of a word.
pub fn split(line: &str) -> Result<Vec<&str>, String> {
    if line.len() + 1 >= MOST_BYTES {
        return Err(format!("a line of {} bytes", line.len() + 1));
    }
    if let Some(odd) = line.chars().find(|c| !(' '..='~').contains(c) || *c == '\\') {
        return Err(format!("character {odd:?}"));
    }
    let mut words = Vec::new();
    let mut rest = skip_separators(line);
    while !rest.is_empty() {
        let (word, after) = first_word(rest)?;
        words.push(word);
        rest = skip_separators(after);
    }
    match words.len() {
        0 => Err("an empty line".into()),
        n if n > MOST_WORDS => Err(format!("{n} words")),
        _ => Ok(words),
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, ' ' | '=')
}

fn is_quote(c: char) -> bool {
    matches!(c, '\'' | '"')
}

fn skip_separators(text: &str) -> &str {
    text.trim_start_matches(is_separator)
}

fn first_word(text: &str) -> Result<(&str, &str), String> {
    if let Some(quote) = text.chars().next().filter(|c| is_quote(*c)) {
        let (word, after) = text[1..].split_once(quote).ok_or("an open quote")?;
        if !after.is_empty() && !after.starts_with(is_separator) {
            return Err(format!("a word glued to '{word}'"));
        }
        return Ok((word, after));
    }
    let end = text.find(is_separator).unwrap_or(text.len());
    if text[..end].contains(is_quote) {
        return Err(format!("a quote inside {}", &text[..end]));
    }
    Ok(text.split_at(end))
}

/// A decimal number as Netdata's own reader takes it: digits, at most a minus before them.
pub fn number<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    match word.parse() {
        Ok(number) if !word.starts_with('+') => Ok(number),
        _ => Err(format!("'{word}' is no number that fits")),
    }
}
