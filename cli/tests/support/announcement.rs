// SPDX-License-Identifier: GPL-3.0-or-later
//! What a CHART and a DIMENSION line announce, and which words may stand in them.

use super::protocol::Update;
use super::words::number;

/// A chart as it was announced, and everything that was collected for it.
#[derive(Debug, Clone)]
pub struct Chart {
    pub id: String,
    pub name: String,
    pub title: String,
    pub units: String,
    pub family: String,
    pub context: String,
    pub kind: String,
    pub priority: u64,
    pub update_every: u64,
    pub options: String,
    pub plugin: String,
    pub module: String,
    pub dimensions: Vec<Dimension>,
    pub updates: Vec<Update>,
}

/// A DIMENSION line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    pub id: String,
    pub name: String,
    pub algorithm: String,
    pub multiplier: i64,
    pub divisor: i64,
}

impl Chart {
    pub(super) fn read(words: &[&str]) -> Result<Self, String> {
        let &[id, name, title, units, family, context, kind, priority, every, options, plugin, module] =
            words
        else {
            return Err(format!("CHART with {} words instead of 12", words.len()));
        };
        let halves: Vec<_> = id.split('.').collect();
        if halves.len() != 2 || halves.iter().any(|half| half.is_empty()) {
            return Err(format!("chart id {id} is not type.id"));
        }
        for (what, word) in [("title", title), ("units", units), ("family", family), ("context", context)] {
            if word.is_empty() {
                return Err(format!("{id} without {what}"));
            }
        }
        if plugin.is_empty() || module.is_empty() {
            return Err(format!("{id} without plugin or module"));
        }
        one_of(kind, &["line", "area", "stacked", "heatmap"])?;
        options.split(' ').try_for_each(|word| one_of(word, &["", "obsolete", "store_first", "hidden"]))?;
        Ok(Self {
            id: id.into(),
            name: name.into(),
            title: title.into(),
            units: units.into(),
            family: family.into(),
            context: context.into(),
            kind: kind.into(),
            priority: positive(priority)?,
            update_every: positive(every)?,
            options: options.into(),
            plugin: plugin.into(),
            module: module.into(),
            dimensions: Vec::new(),
            updates: Vec::new(),
        })
    }

    /// Whether the chart's last CHART line took it away.
    pub fn is_obsolete(&self) -> bool {
        self.options.split(' ').any(|word| word == "obsolete")
    }

    /// Whether another CHART line says the same.
    pub(super) fn is_declared_as(&self, other: &Self) -> bool {
        let words = |chart: &Self| {
            let Self { name, title, units, family, context, kind, plugin, module, .. } = chart.clone();
            let numbers = (chart.priority, chart.update_every);
            ([name, title, units, family, context, kind, plugin, module], numbers)
        };
        words(self) == words(other)
    }

    /// The dimension of this id.
    pub fn dimension(&self, id: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|dimension| dimension.id == id)
    }

    /// The last value that was set for a dimension.
    pub fn last(&self, id: &str) -> Option<i64> {
        self.updates.iter().rev().find_map(|update| update.values.get(id).copied().flatten())
    }
}

impl Dimension {
    pub(super) fn read(words: &[&str]) -> Result<Self, String> {
        let &[id, name, algorithm, ref factors_and_options @ ..] = words else {
            return Err(format!("DIMENSION with {} words instead of 3 to 6", words.len()));
        };
        let (factors, options) = factors_and_options.split_at(factors_and_options.len().min(2));
        if id.is_empty() || name.is_empty() || id.contains('.') {
            return Err(format!("dimension id '{id}' with name '{name}'"));
        }
        one_of(
            algorithm,
            &["absolute", "incremental", "percentage-of-absolute-row", "percentage-of-incremental-row"],
        )?;
        let factor = |index: usize| factors.get(index).map_or(Ok(1), |word| number::<i64>(word));
        let (multiplier, divisor) = (factor(0)?, factor(1)?);
        if multiplier == 0 || divisor == 0 {
            return Err(format!("dimension {id} with a factor of 0"));
        }
        match options {
            [] => {}
            [words] => words
                .split(' ')
                .try_for_each(|word| one_of(word, &["", "obsolete", "hidden", "noreset", "nooverflow"]))?,
            _ => return Err(format!("DIMENSION {id} with {} words", words.len())),
        }
        Ok(Self { id: id.into(), name: name.into(), algorithm: algorithm.into(), multiplier, divisor })
    }
}

fn one_of(word: &str, known: &[&str]) -> Result<(), String> {
    if known.contains(&word) { Ok(()) } else { Err(format!("'{word}' is none of {known:?}")) }
}

fn positive(word: &str) -> Result<u64, String> {
    match number(word)? {
        0 => Err("0 where a positive number must stand".into()),
        number => Ok(number),
    }
}
