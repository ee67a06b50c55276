// SPDX-License-Identifier: GPL-3.0-or-later
//! Writes an initramfs: a cpio archive in the "newc" format.

const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const CHARACTER: u32 = 0o020_000;

#[derive(Default)]
pub struct Cpio {
    bytes: Vec<u8>,
    entries: u32,
}

impl Cpio {
    pub fn directory(&mut self, name: &str) {
        self.entry(name, DIRECTORY | 0o755, (0, 0), &[]);
    }

    pub fn file(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.entry(name, REGULAR | mode, (0, 0), content);
    }

    pub fn character_device(&mut self, name: &str, major: u32, minor: u32) {
        self.entry(name, CHARACTER | 0o600, (major, minor), &[]);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let (size, name_size) = (content.len() as u32, name.len() as u32 + 1);
        // inode, mode, uid, gid, links, mtime, size, major, minor, rmajor, rminor, name's size, checksum
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_header_of_110_bytes_then_name_then_content() {
        let mut cpio = Cpio::default();
        cpio.file("init", 0o755, b"abc");
        let bytes = cpio.finish();
        assert_eq!(&bytes[..22], b"07070100000001000081ED");
        assert_eq!(&bytes[54..62], b"00000003");
        assert_eq!(&bytes[110..116], b"init\0\0");
        assert_eq!(&bytes[116..120], b"abc\0");
        assert_eq!(&bytes[120..126], b"070701");
        assert_eq!(bytes.len() % 4, 0);
    }
}
