// SPDX-License-Identifier: GPL-3.0-or-later
//! The record of the last start on disk: a machine that went down while probes were attached is not brought down again.

use kmote_core::breaker::{Record, Verdict};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The record's name in its folder.
const NAME: &str = "kmote.last-start";
/// For how long probes must have been attached until the machine counts as unharmed.
const PROOF: Duration = Duration::from_secs(30);

/// The record of this start, open so that it can be settled without opening anything.
#[derive(Debug)]
pub struct Breaker {
    record: Option<(File, String)>,
    since: Instant,
    /// What the last start says.
    pub verdict: Verdict,
    path: PathBuf,
}

impl Breaker {
    /// Reads the last start's record and leaves this one's, on the disk before it returns. Where nothing can be kept, nothing
    /// is known.
    pub fn arm(folder: &Path, prefix: &Path, release: &str) -> Self {
        let path = folder.join(NAME);
        let boot = fs::read_to_string(prefix.join("proc/sys/kernel/random/boot_id")).unwrap_or_default();
        let (verdict, record) = match leave(folder, &path, boot.trim(), release) {
            Ok((verdict, file, settled)) => (verdict, Some((file, settled))),
            Err(_) => (Verdict::Normal, None),
        };
        Self { record, since: Instant::now(), verdict, path }
    }

    /// What is to be said of the last start.
    pub fn sentence(&self) -> Option<String> {
        let path = self.path.display();
        match self.verdict {
            Verdict::Normal => None,
            Verdict::Once => Some(format!(
                "the machine went down soon after probes were attached: no kprobes this time; removing {path} brings them back"
            )),
            Verdict::Lasting => Some(format!(
                "the machine went down again and again after probes were attached: no kprobes until {path} is removed or the kernel is another"
            )),
        }
    }

    /// Settles the record once the machine has survived for long enough.
    pub fn look(&mut self) {
        if self.record.is_some() && self.since.elapsed() >= PROOF {
            self.settle();
        }
    }

    /// Settles the record: the machine has survived, or the probes are about to go.
    pub fn settle(&mut self) {
        if let Some((file, settled)) = self.record.take() {
            // The next start finds the old record then, and in the same boot that is no crash.
            let _ = file.write_all_at(settled.as_bytes(), 0);
        }
    }
}

/// Leaves the record; gives what the last one means, and what settles this one.
fn leave(folder: &Path, path: &Path, boot: &str, release: &str) -> io::Result<(Verdict, File, String)> {
    if boot.is_empty() || release.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    if !folder.exists() {
        fs::create_dir(folder)?;
    }
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let mut last = Vec::new();
    (&file).take(4096).read_to_end(&mut last)?;
    let (verdict, record) = Record::judge(Record::parse(&last), boot, release);
    file.write_all_at(record.to_string().as_bytes(), 0)?;
    file.sync_data()?;
    Ok((verdict, file, record.survived().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_leaves_a_record_and_settles_it() {
        let folder = std::env::temp_dir().join(format!("kmote-breaker-{}", std::process::id()));
        let path = folder.join(NAME);
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let boot = boot.trim();
        let start = || Breaker::arm(&folder, Path::new("/"), "6.1");
        let begins = |state: &str| {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.starts_with(&format!("{state} {boot} 6.1 ")), "{text}");
        };
        let mut first = start();
        assert_eq!(first.verdict, Verdict::Normal);
        begins("attaching");
        first.look();
        begins("attaching");
        first.settle();
        begins("settled");
        // Killed, in the same boot.
        drop(start());
        assert_eq!(start().verdict, Verdict::Normal);
        // Another boot: the machine went down.
        fs::write(&path, "attaching x 6.1 0\n").unwrap();
        let second = start();
        assert_eq!(second.verdict, Verdict::Once);
        assert!(second.sentence().unwrap().contains(NAME));
        begins("settled");
        // Then it is tried again; and when it goes down again, not any more.
        assert_eq!(start().verdict, Verdict::Normal);
        fs::write(&path, "attaching x 6.1 1\n").unwrap();
        assert_eq!(start().verdict, Verdict::Lasting);
        assert_eq!(start().verdict, Verdict::Lasting);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn where_nothing_can_be_kept_nothing_is_known() {
        let breaker = Breaker::arm(Path::new("/proc/kmote"), Path::new("/"), "6.1");
        assert_eq!((breaker.verdict, breaker.sentence()), (Verdict::Normal, None));
    }
}
