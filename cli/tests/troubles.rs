// SPDX-License-Identifier: GPL-3.0-or-later
//! That what `troubles.txt` names is there: a list of tests is worth nothing once one of them is gone.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// What is wrong with a proof: a file, a test in a file, a sentence of the README, or a reason in brackets.
fn fault(proof: &str, readme: &str) -> Option<String> {
    let proof = proof.trim();
    if let Some(sentence) = proof.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return (!readme.contains(sentence)).then(|| format!("README.md does not say {sentence}"));
    }
    if proof.starts_with('(') && proof.ends_with(')') {
        return None;
    }
    let (file, name) = proof.split_once("::").map_or((proof, None), |(file, name)| (file, Some(name)));
    let Ok(text) = fs::read_to_string(root().join(file)) else { return Some(format!("no file {file}")) };
    let there = name.is_none_or(|name| text.contains(&format!("fn {name}(")));
    (!there).then(|| format!("no {name:?} in {file}"))
}

#[test]
fn every_trouble_has_a_proof_that_is_there() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let readme = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    let list = fs::read_to_string(root().join("cli/tests/troubles.txt")).unwrap();
    let (mut ids, mut faults) = (BTreeSet::new(), Vec::new());
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (trouble, proofs) = line.split_once(": ").unwrap_or_else(|| panic!("{line}: no proof"));
        let id = trouble.split_whitespace().next().unwrap();
        assert!(ids.insert(id.to_owned()), "{id}: twice");
        // A sentence or a reason stands alone, since commas are part of them.
        for part in proofs.split("; ") {
            let alone = part.starts_with(['"', '(']);
            let parts: Vec<_> = if alone { vec![part] } else { part.split(", ").collect() };
            faults.extend(
                parts.into_iter().filter_map(|proof| Some(format!("{id}: {}", fault(proof, &readme)?))),
            );
        }
    }
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(ids.len(), 76, "the catalogue has so many");
}
