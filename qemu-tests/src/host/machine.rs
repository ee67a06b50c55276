// SPDX-License-Identifier: GPL-3.0-or-later
//! The architectures: what QEMU, Debian and Rust call each, and the machine that is emulated.

use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    Amd64,
    Arm64,
    Armhf,
    Riscv64,
    Mipsel,
}

pub struct Machine {
    /// Debian's name.
    pub name: &'static str,
    /// The directory of `cross/build.sh`'s output, Rust's target.
    pub target: &'static str,
    pub qemu: &'static str,
    pub package: &'static str,
    pub options: &'static [&'static str],
    pub console: &'static str,
    /// More words for the kernel's command line.
    pub words: &'static str,
}

const MACHINES: [Machine; 5] = [
    Machine {
        name: "amd64",
        target: "x86_64-unknown-linux-gnu",
        qemu: "qemu-system-x86_64",
        package: "qemu-system-x86",
        options: &["-cpu", "max"],
        console: "ttyS0",
        // On a loaded host the emulated timer looks broken to the kernel's check, which then panics.
        words: "no_timer_check",
    },
    Machine {
        name: "arm64",
        target: "aarch64-unknown-linux-musl",
        qemu: "qemu-system-aarch64",
        package: "qemu-system-arm",
        options: &["-machine", "virt", "-cpu", "cortex-a72"],
        console: "ttyAMA0",
        words: "",
    },
    Machine {
        name: "armhf",
        target: "armv7-unknown-linux-musleabihf",
        qemu: "qemu-system-arm",
        package: "qemu-system-arm",
        // With high memory the PCI window lies where a kernel without LPAE cannot see it.
        options: &["-machine", "virt,highmem=off", "-cpu", "cortex-a15"],
        console: "ttyAMA0",
        words: "",
    },
    Machine {
        name: "riscv64",
        target: "riscv64gc-unknown-linux-musl",
        qemu: "qemu-system-riscv64",
        package: "qemu-system-misc",
        options: &["-machine", "virt", "-cpu", "rv64"],
        console: "ttyS0",
        words: "",
    },
    Machine {
        name: "mipsel",
        target: "mipsel-unknown-linux-musl",
        qemu: "qemu-system-mipsel",
        package: "qemu-system-mips",
        // By one CPU alone the timer can set itself to now for ever while the clock stands still: a tick of it is no whole
        // number of nanoseconds there (QEMU 7.2, `cpu_mips_timer_update`). The second one is not used.
        options: &["-machine", "malta", "-cpu", "34Kf"],
        console: "ttyS0",
        words: "nr_cpus=1",
    },
];

impl Arch {
    pub fn machine(self) -> &'static Machine {
        &MACHINES[self as usize]
    }
}

impl FromStr for Arch {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        [Self::Amd64, Self::Arm64, Self::Armhf, Self::Riscv64, Self::Mipsel]
            .into_iter()
            .find(|arch| arch.machine().name == name)
            .ok_or_else(|| {
                format!("unknown architecture {name}; known: amd64, arm64, armhf, riscv64, mipsel")
            })
    }
}
