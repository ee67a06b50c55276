// SPDX-License-Identifier: GPL-3.0-or-later
//! Configuration: Netdata's files for its eBPF plugin, one of ours that wins over them, and what follows.

mod files;
mod keys;
mod layers;
mod settings;
mod show;
#[cfg(test)]
mod tests;

pub use files::{Directories, FILES, kernels};
pub use settings::{Origin, Setting, Settings};

use crate::args::Options;

/// Reads the files and gives the effective settings, with a sentence for each thing that is wrong.
pub fn load(options: &Options) -> (Settings, Vec<String>) {
    let (texts, mut complaints) = files::read(&options.directories);
    let mut layers = layers::Layers::default();
    for text in &texts {
        layers.apply(text);
    }
    let settings = Settings::new(&layers, options);
    complaints.extend(layers.complaints(&settings));
    (settings, complaints)
}

/// What `kmote config` prints.
pub fn print(options: &Options) -> String {
    let (texts, _) = files::read(&options.directories);
    let (settings, complaints) = load(options);
    show::text(&settings, &texts, &complaints)
}
