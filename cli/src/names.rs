// SPDX-License-Identifier: GPL-3.0-or-later
//! The names of keys, from sysfs and `/proc/interrupts`: of interrupt lines and of disks. Nothing here allocates.

use kmote_core::interrupts::Finder;
use kmote_core::table::{Names, clean};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use ufmt::uwrite;

/// A name that can stand in an id.
pub type Name = heapless::String<63>;

/// A path, or none where it is longer than any that we build.
type Place = heapless::String<255>;

/// Where names are asked for.
#[derive(Debug)]
pub struct Namer {
    sysfs: Place,
    interrupts: Place,
}

impl Namer {
    /// `prefix` stands before `/sys`.
    pub fn new(prefix: &Path) -> Self {
        let place = |path| prefix.join(path).to_str().and_then(|text| Place::try_from(text).ok());
        Self {
            sysfs: place("sys").unwrap_or_default(),
            interrupts: place("proc/interrupts").unwrap_or_default(),
        }
    }

    /// The name of a key; by its number alone where sysfs does not know it, or no more.
    pub fn name(&self, names: Names, key: u64) -> Name {
        let (mut bytes, mut path) = ([0; 512], self.sysfs.clone());
        let built = match names {
            Names::Irq => uwrite!(path, "/kernel/irq/{}/actions", key),
            Names::Disk => uwrite!(path, "/dev/block/{}:{}/uevent", major(key), minor(key)),
        };
        let read = built.ok().and_then(|()| File::open(path.as_str()).ok()?.read(&mut bytes).ok());
        let text = bytes.get(..read.unwrap_or(0)).unwrap_or_default();
        match (names, read) {
            (Names::Irq, None) => self.listed(key),
            (Names::Irq, Some(_)) => irq(text, key),
            (Names::Disk, _) => disk(text, key),
        }
    }

    /// The name of an interrupt line that sysfs does not have.
    fn listed(&self, number: u64) -> Name {
        let (mut finder, mut piece) = (Finder::new(number), [0; 512]);
        let mut file = File::open(self.interrupts.as_str()).ok();
        while let Some(length @ 1..) = file.as_mut().and_then(|file| file.read(&mut piece).ok()) {
            if let Some(handlers) = finder.feed(piece.get(..length).unwrap_or_default()) {
                return irq(handlers, number);
            }
        }
        irq(b"", number)
    }
}

// include/linux/kdev_t.h: what a device number is inside the kernel.
const fn major(device: u64) -> u64 {
    device >> 20
}

const fn minor(device: u64) -> u64 {
    device & 0xf_ffff
}

/// The handlers of an interrupt line, then its number: several lines may have handlers of one name.
fn irq(actions: &[u8], number: u64) -> Name {
    let mut digits = heapless::String::<20>::new();
    let _ = uwrite!(digits, "{}", number);
    let mut name = Name::new();
    let room = name.capacity() - digits.len() - 1;
    for letter in clean(actions.trim_ascii()).take(room) {
        let _ = name.push(letter);
    }
    let _ = uwrite!(name, "{}{}", if name.is_empty() { "irq_" } else { "_" }, digits.as_str());
    name
}

/// The kernel's name of a block device, where sysfs tells; else its number.
fn disk(uevent: &[u8], device: u64) -> Name {
    let mut name = Name::new();
    let told = uevent.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"DEVNAME="));
    match told {
        Some(told) => clean(told).take(name.capacity()).for_each(|letter| drop(name.push(letter))),
        None => drop(uwrite!(name, "{}_{}", major(device), minor(device))),
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_lines() {
        for (actions, number, expected) in [
            ("timer\n", 0, "timer_0"),
            ("nvme0q1\n", 24, "nvme0q1_24"),
            ("mlx5_comp40@pci:0000:86:00.0\n", 240, "mlx5_comp40_pci_0000_86_00_0_240"),
            ("nvme 0 io5\n", 250, "nvme_0_io5_250"),
            ("uhci_hcd:usb1,ehci\n", 16, "uhci_hcd_usb1_ehci_16"),
            ("", 77, "irq_77"),
            ("\n", 77, "irq_77"),
            ("x'y\\=,\n", 1, "x_y____1"),
        ] {
            assert_eq!(irq(actions.as_bytes(), number), expected);
        }
        let long = irq("é".repeat(200).as_bytes(), u64::MAX);
        assert_eq!((long.len(), &long[long.len() - 21..]), (63, "_18446744073709551615"));
    }

    #[test]
    fn disks() {
        for (uevent, device, expected) in [
            ("MAJOR=259\nMINOR=0\nDEVNAME=nvme0n1\nDEVTYPE=disk\n", 259 << 20, "nvme0n1"),
            ("MAJOR=104\nMINOR=0\nDEVNAME=cciss/c0d0\nDEVTYPE=disk\n", 104 << 20, "cciss_c0d0"),
            ("MAJOR=253\nMINOR=3\nDEVNAME=dm-3\n", 253 << 20 | 3, "dm-3"),
            ("", 8 << 20 | 16, "8_16"),
            ("DEVTYPE=disk\n", 259 << 20 | 0xf_ffff, "259_1048575"),
        ] {
            assert_eq!(disk(uevent.as_bytes(), device), expected);
        }
        assert_eq!(disk(&[b"DEVNAME=".to_vec(), vec![0xff; 300]].concat(), 1).len(), 63);
    }

    #[test]
    fn what_sysfs_does_not_have_is_named_by_its_number() {
        let namer = Namer::new(Path::new("/nonexistent"));
        assert_eq!(namer.name(Names::Irq, 9), "irq_9");
        assert_eq!(namer.name(Names::Disk, 8 << 20), "8_0");
    }
}
