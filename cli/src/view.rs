// SPDX-License-Identifier: GPL-3.0-or-later
//! What was sent, as charts with rates: made from the protocol's text, so that every view shows what Netdata gets.

use crate::number::Number;
use kmote_core::histogram::LABELS;

/// A chart as it was announced last.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// `type.id`
    pub id: String,
    /// What stands above it.
    pub title: String,
    /// What its axis is in.
    pub units: String,
    /// The same for all charts of the kind.
    pub context: String,
    /// Labels that it was given.
    pub labels: Vec<(String, String)>,
    /// Its lines.
    pub dimensions: Vec<Dimension>,
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// Its id.
    pub id: String,
    /// What is shown for it.
    pub name: String,
    /// Whether its value is a total, of which the rate is shown.
    pub total: bool,
    multiplier: i64,
    divisor: i64,
    /// The last value that was sent.
    value: Option<i64>,
    before: Option<i64>,
    microseconds: Option<i64>,
}

impl Dimension {
    /// The last value, in the chart's units.
    pub fn value(&self) -> Option<Number> {
        self.value.map(|value| self.scaled(value))
    }

    /// What is drawn: the rate of a total, the value of a state.
    pub fn shown(&self) -> Option<Number> {
        if !self.total {
            return self.value();
        }
        let (now, before, microseconds) = (self.value?, self.before?, self.microseconds?);
        (microseconds > 0).then(|| self.scaled(now.wrapping_sub(before)).times(1_000_000, microseconds))
    }

    /// By how much a total grew, in its own units.
    pub fn grown(&self) -> u64 {
        let grown = self.value.zip(self.before).map_or(0, |(now, before)| now.wrapping_sub(before));
        u64::try_from(grown).unwrap_or(0)
    }

    fn scaled(&self, value: i64) -> Number {
        Number::of(value).times(self.multiplier, self.divisor)
    }
}

impl Chart {
    /// Whether its lines are the buckets of a histogram of latencies.
    pub fn is_histogram(&self) -> bool {
        self.dimensions.len() == LABELS.len()
            && self.dimensions.iter().zip(LABELS).all(|(dimension, label)| dimension.id == label)
    }
}

/// All charts, in the order of their first announcement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The charts.
    pub charts: Vec<Chart>,
    /// The one that the following lines are about.
    current: usize,
    microseconds: Option<i64>,
}

impl View {
    /// Takes what was sent.
    pub fn take(&mut self, text: &str) {
        text.lines().for_each(|line| self.line(line));
    }

    fn line(&mut self, line: &str) {
        let mut words = Words(line);
        match words.next() {
            Some("CHART") => self.chart(words),
            Some("DIMENSION") => self.dimension(words),
            Some("CLABEL") => self.label(words),
            Some("BEGIN") => self.begin(words),
            Some("SET") => self.set(words),
            _ => {}
        }
    }

    fn chart(&mut self, words: Words<'_>) {
        let words: Vec<_> = words.collect();
        let word = |place: usize| words.get(place).copied().unwrap_or_default();
        let known = self.charts.iter().position(|chart| chart.id == word(0));
        if word(9).split(' ').any(|option| option == "obsolete") {
            known.map(|place| self.charts.remove(place));
            self.current = usize::MAX;
            return;
        }
        self.current = known.unwrap_or(self.charts.len());
        if known.is_none() {
            self.charts.push(Chart {
                id: word(0).to_owned(),
                title: word(2).to_owned(),
                units: word(3).to_owned(),
                context: word(5).to_owned(),
                labels: Vec::new(),
                dimensions: Vec::new(),
            });
        }
    }

    fn dimension(&mut self, words: Words<'_>) {
        let words: Vec<_> = words.collect();
        let Some(chart) = self.charts.get_mut(self.current) else { return };
        let word = |place: usize| words.get(place).copied().unwrap_or_default();
        let factor = |place: usize| word(place).parse().ok().filter(|factor| *factor != 0).unwrap_or(1);
        let known = chart.dimensions.iter().position(|dimension| dimension.id == word(0));
        if word(5).split(' ').any(|option| option == "obsolete") {
            known.map(|place| chart.dimensions.remove(place));
        } else if known.is_none() {
            chart.dimensions.push(Dimension {
                id: word(0).to_owned(),
                name: word(1).to_owned(),
                total: word(2) == "incremental",
                multiplier: factor(3),
                divisor: factor(4),
                value: None,
                before: None,
                microseconds: None,
            });
        }
    }

    fn label(&mut self, mut words: Words<'_>) {
        let (Some(chart), Some(name), Some(value)) =
            (self.charts.get_mut(self.current), words.next(), words.next())
        else {
            return;
        };
        if chart.labels.iter().all(|(known, _)| known != name) {
            chart.labels.push((name.to_owned(), value.to_owned()));
        }
    }

    fn begin(&mut self, mut words: Words<'_>) {
        let id = words.next().unwrap_or_default();
        self.current = self.charts.iter().position(|chart| chart.id == id).unwrap_or(usize::MAX);
        self.microseconds = words.next().and_then(|word| word.parse().ok());
        if let Some(chart) = self.charts.get_mut(self.current) {
            for dimension in &mut chart.dimensions {
                dimension.before = dimension.value.take();
            }
        }
    }

    fn set(&mut self, mut words: Words<'_>) {
        let (id, value) = (words.next().unwrap_or_default(), words.next());
        let chart = self.charts.get_mut(self.current);
        let known = chart.and_then(|chart| chart.dimensions.iter_mut().find(|dimension| dimension.id == id));
        if let Some(dimension) = known {
            dimension.value = value.and_then(|word| word.parse().ok());
            dimension.microseconds = self.microseconds;
        }
    }
}

/// The words of a line, as Netdata splits it: at blanks and `=`, and not within quotes.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let between = |letter: char| letter.is_ascii_whitespace() || letter == '=';
        let rest = self.0.trim_start_matches(between);
        let quote = rest.chars().next().filter(|letter| matches!(letter, '\'' | '"'));
        let (word, after) = match quote.and_then(|quote| rest.get(1..)?.split_once(quote)) {
            Some(quoted) => quoted,
            None if rest.is_empty() => return None,
            None => rest.split_at(rest.find(between).unwrap_or(rest.len())),
        };
        self.0 = after;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNOUNCED: &str = "\
CHART a.b '' 'A title' 'calls/s' 'family' 'a.b' line 1 1 '' 'kmote.plugin' 'm'
CLABEL 'disk' 'sda' 1
CLABEL_COMMIT
DIMENSION 'x' 'X y' incremental 1 1
DIMENSION 'down' 'down' incremental -8 1000
DIMENSION 'level' 'level' absolute 1 100
";

    fn shown(view: &View) -> Vec<Option<Number>> {
        view.charts.iter().flat_map(|chart| chart.dimensions.iter().map(Dimension::shown)).collect()
    }

    #[test]
    fn words_as_netdata_splits_them() {
        let words: Vec<_> = Words("SET 'a b' = 12 \"it's\"  '' x=y").collect();
        assert_eq!(words, ["SET", "a b", "12", "it's", "", "x", "y"]);
        assert_eq!(Words("").next(), None);
        assert_eq!(Words("'open").collect::<Vec<_>>(), ["'open"]);
    }

    #[test]
    fn rates_follow_from_totals_and_the_time_between() {
        let mut view = View::default();
        view.take(ANNOUNCED);
        assert_eq!(shown(&view), [None, None, None]);
        for (sent, expected) in [
            (
                "BEGIN a.b\nSET 'x' = 5\nSET 'down' = 0\nSET 'level' = 50\nEND\n",
                [None, None, Some(Number::of(50).times(1, 100))],
            ),
            (
                "BEGIN a.b 2000000\nSET 'x' = 9\nSET 'down' = 500\nEND\n",
                [Some(Number::of(2)), Some(Number::of(-2)), None],
            ),
            ("BEGIN a.b 500000\nSET 'x' = 9\nEND\n", [Some(Number::of(0)), None, None]),
            // What is announced again stays what it was.
            (
                &format!("{ANNOUNCED}BEGIN a.b 1000000\nSET 'x' = 12\nEND\n"),
                [Some(Number::of(3)), None, None],
            ),
            ("BEGIN a.b 0\nSET 'x' = 12\nEND\n", [None, None, None]),
            ("BEGIN not.there 0\nSET 'x' = 99\nEND\nnonsense\n", [None, None, None]),
        ] {
            view.take(sent);
            assert_eq!(shown(&view), expected, "{sent}");
        }
        let chart = &view.charts[0];
        assert_eq!((chart.title.as_str(), chart.units.as_str()), ("A title", "calls/s"));
        assert_eq!(chart.labels, [("disk".to_owned(), "sda".to_owned())]);
        assert_eq!(chart.dimensions[0].name, "X y");
    }

    #[test]
    fn what_is_obsolete_is_gone() {
        let mut view = View::default();
        view.take(ANNOUNCED);
        view.take(
            "CHART a.b '' 't' 'u' 'f' 'a.b' line 1 1 'obsolete' 'kmote.plugin' 'm'\nDIMENSION 'z' 'z'\n",
        );
        assert!(view.charts.is_empty());
    }

    #[test]
    fn a_histogram_is_told_by_its_buckets() {
        let mut view = View::default();
        let buckets: String =
            LABELS.iter().map(|label| format!("DIMENSION '{label}' '{label}' incremental 1 1\n")).collect();
        view.take(&format!("CHART d.l '' 't' 'calls/s' 'f' 'd.l' stacked 1 1\n{buckets}{ANNOUNCED}"));
        assert!(view.charts[0].is_histogram() && !view.charts[1].is_histogram());
    }
}
