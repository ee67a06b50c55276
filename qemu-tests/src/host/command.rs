// SPDX-License-Identifier: GPL-3.0-or-later
//! Runs a program of the host; a failure carries the command and the end of what it printed.

use std::process::Command;

pub fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let result = command.output().map_err(|e| format!("{name}: {e}"))?;
    if result.status.success() {
        return Ok(result.stdout);
    }
    let text =
        String::from_utf8_lossy(&result.stderr).into_owned() + &String::from_utf8_lossy(&result.stdout);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let tail = lines[lines.len().saturating_sub(8)..].join("; ");
    Err(format!("{name} failed ({}): {tail}", result.status))
}

pub fn succeed(command: &mut Command) -> Result<(), String> {
    output(command).map(drop)
}
