// SPDX-License-Identifier: GPL-3.0-or-later
//! A strict parser of Netdata's plugin protocol: a state machine that refuses whatever is out of place.

use std::collections::HashMap;

pub use super::announcement::{Chart, Dimension};
use super::words::{self, number};

/// A stream that was valid from its first line to its last.
#[derive(Debug, Default, Clone)]
pub struct Stream {
    /// In the order of their first CHART line.
    pub charts: Vec<Chart>,
    /// Whether the stream ended with DISABLE.
    pub disabled: bool,
}

/// What stood between a BEGIN and its END.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Update {
    /// Since the chart's previous update; the first update has none.
    pub microseconds: Option<u64>,
    /// By dimension id; an empty SET is a dimension without a value.
    pub values: HashMap<String, Option<i64>>,
}

/// Where and why a stream is not the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Counted from 1.
    pub line: usize,
    pub reason: String,
}

/// Parses a whole stream, which must end where an update or an announcement ends.
pub fn parse(text: &str) -> Result<Stream, Fault> {
    let mut parser = Parser::default();
    for line in text.split_inclusive('\n') {
        parser.line(line)?;
    }
    parser.finish()
}

/// The state machine, fed line by line.
#[derive(Debug, Default)]
pub struct Parser {
    stream: Stream,
    state: State,
    lines: usize,
}

#[derive(Debug, Default, Clone)]
enum State {
    /// Between commands: any of CHART, BEGIN, DISABLE.
    #[default]
    Idle,
    /// The chart with this index takes dimensions.
    Announcing(usize),
    /// The chart with this index is declared again, and this many of its dimensions were; whether something came or went.
    Repeating(usize, usize, bool),
    /// The chart with this index takes values.
    Updating(usize, Update),
    /// DISABLE was said.
    Ended,
}

impl Parser {
    /// Takes one line, its LF included.
    pub fn line(&mut self, line: &str) -> Result<(), Fault> {
        self.lines += 1;
        let result = match line.strip_suffix('\n') {
            Some(line) => self.command(line),
            None => Err("a line without its end".into()),
        };
        result.map_err(|reason| Fault { line: self.lines, reason })
    }

    /// Ends the stream and hands it out.
    pub fn finish(mut self) -> Result<Stream, Fault> {
        let result = match &self.state {
            State::Updating(..) => Err("the stream ends inside BEGIN".into()),
            _ => self.close_announcement(),
        };
        result.map_err(|reason| Fault { line: self.lines, reason })?;
        Ok(self.stream)
    }

    fn command(&mut self, line: &str) -> Result<(), String> {
        let words = words::split(line)?;
        let arguments = &words[1..];
        match (words[0], self.state.clone()) {
            (_, State::Ended) => Err("a line after DISABLE".into()),
            ("SET", State::Updating(index, update)) => self.set(line, arguments, index, update),
            ("END", State::Updating(index, update)) => self.end(arguments, index, update),
            (word, State::Updating(..)) => Err(format!("{word} inside BEGIN")),
            ("DIMENSION", State::Announcing(index)) => self.dimension(arguments, index),
            ("DIMENSION", State::Repeating(index, place, changed)) => {
                self.repeated(arguments, index, place, changed)
            }
            ("DIMENSION", _) => Err("DIMENSION outside CHART".into()),
            ("SET" | "END", _) => Err(format!("{} outside BEGIN", words[0])),
            ("CHART", _) => self.chart(arguments),
            ("BEGIN", _) => self.begin(arguments),
            ("DISABLE", _) => self.disable(arguments),
            (word, _) => Err(format!("unknown command {word}")),
        }
    }

    fn chart(&mut self, words: &[&str]) -> Result<(), String> {
        self.close_announcement()?;
        let chart = Chart::read(words)?;
        let gone = chart.is_obsolete();
        self.state = match self.index_of(&chart.id) {
            None if gone => return Err(format!("{} is obsolete before it was announced", chart.id)),
            None => {
                self.stream.charts.push(chart);
                State::Announcing(self.stream.charts.len() - 1)
            }
            Some(index) => {
                let known = &mut self.stream.charts[index];
                let (was_gone, same) = (known.is_obsolete(), known.is_declared_as(&chart));
                if was_gone && gone || !was_gone && !gone && !same {
                    return Err(format!("{} is announced twice", chart.id));
                }
                *known =
                    Chart { dimensions: known.dimensions.clone(), updates: known.updates.clone(), ..chart };
                if gone { State::Idle } else { State::Repeating(index, 0, was_gone) }
            }
        };
        Ok(())
    }

    fn dimension(&mut self, words: &[&str], index: usize) -> Result<(), String> {
        let dimension = Dimension::read(words)?;
        let chart = &mut self.stream.charts[index];
        if chart.dimensions.iter().any(|known| known.id == dimension.id) {
            return Err(format!("dimension {} of {} is announced twice", dimension.id, chart.id));
        }
        chart.dimensions.push(dimension);
        Ok(())
    }

    /// A chart is declared again when dimensions come or go: all the others must be there, in their order.
    fn repeated(&mut self, words: &[&str], index: usize, place: usize, changed: bool) -> Result<(), String> {
        let dimension = Dimension::read(words)?;
        let goes = words.get(5).is_some_and(|options| options.split(' ').any(|word| word == "obsolete"));
        let chart = &mut self.stream.charts[index];
        self.state = match chart.dimensions.iter().position(|known| known.id == dimension.id) {
            Some(known) if known != place || chart.dimensions[known] != dimension => {
                return Err(format!("dimension {} of {} is out of place", dimension.id, chart.id));
            }
            Some(_) if goes => {
                chart.dimensions.remove(place);
                State::Repeating(index, place, true)
            }
            Some(_) => State::Repeating(index, place + 1, changed),
            None => {
                chart.dimensions.insert(place, dimension);
                State::Repeating(index, place + 1, true)
            }
        };
        Ok(())
    }

    fn close_announcement(&mut self) -> Result<(), String> {
        match std::mem::take(&mut self.state) {
            State::Repeating(index, place, changed) => {
                let chart = &self.stream.charts[index];
                match chart.dimensions.get(place) {
                    _ if !changed => Err(format!("{} is announced twice", chart.id)),
                    Some(missing) if place > 0 => {
                        Err(format!("{} is declared again without dimension {}", chart.id, missing.id))
                    }
                    _ => Ok(()),
                }
            }
            State::Announcing(index) if self.stream.charts[index].dimensions.is_empty() => {
                Err(format!("{} has no dimension", self.stream.charts[index].id))
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, words: &[&str]) -> Result<(), String> {
        self.close_announcement()?;
        let (id, time) = match words {
            [id] => (*id, None),
            [id, time] => (*id, Some(number::<u64>(time)?)),
            _ => return Err("BEGIN takes a chart and microseconds".into()),
        };
        let index = self.index_of(id).ok_or(format!("BEGIN of the unknown chart {id}"))?;
        let chart = &self.stream.charts[index];
        match (chart.updates.is_empty(), time) {
            _ if chart.is_obsolete() => Err(format!("BEGIN of the obsolete chart {id}")),
            (true, Some(_)) => Err(format!("the first BEGIN of {id} has microseconds")),
            (false, None) => Err(format!("a later BEGIN of {id} has no microseconds")),
            (false, Some(0)) => Err(format!("a BEGIN of {id} after 0 microseconds")),
            _ => {
                self.state = State::Updating(index, Update { microseconds: time, ..Update::default() });
                Ok(())
            }
        }
    }

    fn set(&mut self, line: &str, words: &[&str], index: usize, mut update: Update) -> Result<(), String> {
        let chart = &self.stream.charts[index];
        let (id, value) = match words {
            [id] => (*id, None),
            [id, value] => (*id, Some(number::<i64>(value)?)),
            _ => return Err("SET takes a dimension and a value".into()),
        };
        if !line.contains(" = ") && !line.ends_with(" =") {
            return Err("SET without ` = `".into());
        }
        let dimension = chart.dimension(id).ok_or(format!("SET of the unknown dimension {id}"))?;
        if let (Some(value), Some(last)) = (value, chart.last(id))
            && dimension.algorithm == "incremental"
            && value < last
        {
            return Err(format!("counter {id} of {} fell from {last} to {value}", chart.id));
        }
        if dimension.algorithm == "incremental" && value.is_some_and(|value| value < 0) {
            return Err(format!("counter {id} of {} is negative", chart.id));
        }
        if update.values.insert(id.into(), value).is_some() {
            return Err(format!("{id} is set twice"));
        }
        self.state = State::Updating(index, update);
        Ok(())
    }

    fn end(&mut self, words: &[&str], index: usize, update: Update) -> Result<(), String> {
        if !words.is_empty() {
            return Err("END takes nothing".into());
        }
        let chart = &mut self.stream.charts[index];
        if update.values.is_empty() {
            return Err(format!("an update of {} without a SET", chart.id));
        }
        chart.updates.push(update);
        self.state = State::Idle;
        Ok(())
    }

    fn disable(&mut self, words: &[&str]) -> Result<(), String> {
        self.close_announcement()?;
        if !words.is_empty() {
            return Err("DISABLE takes nothing".into());
        }
        self.stream.disabled = true;
        self.state = State::Ended;
        Ok(())
    }

    fn index_of(&self, id: &str) -> Option<usize> {
        self.stream.charts.iter().position(|chart| chart.id == id)
    }
}

impl Stream {
    /// The chart of this id.
    pub fn chart(&self, id: &str) -> Option<&Chart> {
        self.charts.iter().find(|chart| chart.id == id)
    }
}
