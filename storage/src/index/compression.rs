//! Blocks of rows, compressed: neighbours in the order of their keys say much the same.
//!
//! **Shape.** One zstd frame that names the length of its content. A block that would not become a quarter
//! smaller stays as it is; its kind says which of the two it is.
//!
//! **Bounds.** Content of [`PAYLOAD_MAX`] bytes at most, whatever a frame claims. A context for each run that
//! is being written, and one for each thread that reads (about 100 KiB).
//!
//! **Failure.** A frame that passed its checksum and cannot be decompressed is damage of the index.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

use crate::index::blocks::PAYLOAD_MAX;
use crate::index::trouble::Trouble;

/// How hard zstd tries: the next levels save a twentieth and take twice as long.
const LEVEL: i32 = 1;

thread_local! {
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses the blocks of one run.
pub(crate) struct RowCompressor(Compressor<'static>);

impl RowCompressor {
    /// With a context of its own.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(crate) fn new() -> Result<Self, Trouble> {
        Ok(Self(
            Compressor::new(LEVEL).map_err(|e| Trouble::writing(&e))?,
        ))
    }

    /// The frame of a block's rows; `None` when it saves less than a quarter.
    ///
    /// # Errors
    /// When zstd refuses, which it does not for what fits into a block.
    pub(crate) fn compress(&mut self, rows: &[u8]) -> Result<Option<Vec<u8>>, Trouble> {
        let frame = self.0.compress(rows).map_err(|e| Trouble::writing(&e))?;
        Ok((frame.len() <= rows.len() / 4 * 3).then_some(frame))
    }
}

/// The rows in a frame.
///
/// # Errors
/// When it is none, is empty, or holds more than a block does.
pub(crate) fn decompress(frame: &[u8]) -> Result<Vec<u8>, Trouble> {
    let unreadable = |e: std::io::Error| Trouble::from(format!("compressed rows: {e}"));
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new().map_err(|e| Trouble::looking(&e))?),
        };
        let rows = decompressor
            .decompress(frame, PAYLOAD_MAX)
            .map_err(unreadable)?;
        // zstd takes no bytes for a frame that says nothing; no block is without rows
        if rows.is_empty() {
            return Err("compressed rows: there are none".into());
        }
        Ok(rows)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were_and_what_does_not_shrink_stays() {
        let mut compressor = RowCompressor::new().unwrap();
        for length in [0, 1, 100, PAYLOAD_MAX] {
            let rows: Vec<u8> = (0..length).map(|n| u8::try_from(n % 7).unwrap()).collect();
            let Some(frame) = compressor.compress(&rows).unwrap() else {
                assert!(length < 100, "{length} bytes of a pattern did not shrink");
                continue;
            };
            assert!(frame.len() < rows.len());
            assert_eq!(decompress(&frame).unwrap(), rows);
        }
        let noise: Vec<u8> = (0_u64..500)
            .flat_map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes())
            .map(|byte| byte.wrapping_mul(167))
            .collect();
        assert_eq!(compressor.compress(&noise).unwrap(), None);
    }

    #[test]
    fn what_is_cut_or_larger_than_a_block_is_refused() {
        let mut compressor = RowCompressor::new().unwrap();
        let frame = compressor.compress(&[7; 4000]).unwrap().unwrap();
        for cut in 0..frame.len() {
            assert!(decompress(&frame[..cut]).is_err(), "{cut}");
        }
        let large = compressor.compress(&[7; PAYLOAD_MAX + 1]).unwrap().unwrap();
        assert!(decompress(&large).is_err());
    }
}
