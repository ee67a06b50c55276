// SPDX-License-Identifier: GPL-3.0-or-later
//! What the fuzz targets share: bytes in pieces.

/// Cuts `data` into pieces whose sizes its own first bytes tell: any split must give the same result.
pub fn pieces(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (sizes, mut rest) = data.split_at(data.len().min(4));
    let mut sizes = sizes.to_vec().into_iter().cycle();
    std::iter::from_fn(move || {
        let size = usize::from(sizes.next()?).clamp(1, rest.len().max(1));
        let (piece, after) = rest.split_at_checked(size)?;
        rest = after;
        Some(piece)
    })
}

/// What `pieces` cuts, uncut.
pub fn whole(data: &[u8]) -> &[u8] {
    data.split_at(data.len().min(4)).1
}
