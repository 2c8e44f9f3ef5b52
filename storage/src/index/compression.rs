//! Compressed blocks of rows: rows that are neighbours in key order are much alike.
//!
//! **Shape.** One zstd frame that states the length of its content. A block that would shrink by less than a quarter
//! stays uncompressed; the kind of the block says which form it is.
//!
//! **Bounds.** At most [`PAYLOAD_MAX`] bytes of content, whatever a frame claims. One context for each run being
//! written, and one for each thread that reads (about 100 KiB).
//!
//! **Failure.** If a frame that passed its checksum cannot be decompressed, the index is damaged.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

use crate::index::blocks::PAYLOAD_MAX;
use crate::index::error::IndexError;

/// The zstd level of merged runs: the next levels save a twentieth more and take twice as long.
const LEVEL: i32 = 1;
/// The zstd level of runs that a flush makes, which are merged soon: it takes less time, and they are a third larger.
const LEVEL_FLUSHED: i32 = -3;

thread_local! {
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses the blocks of one run.
pub(crate) struct RowCompressor(Compressor<'static>);

impl RowCompressor {
    /// A compressor with its own context, for a run of this level.
    ///
    /// # Errors
    /// When there is no memory for the context.
    pub(crate) fn new(level: u8) -> Result<Self, IndexError> {
        let level = if level == 0 { LEVEL_FLUSHED } else { LEVEL };
        let compressor = Compressor::new(level);
        Ok(Self(compressor.map_err(|e| IndexError::writing(&e))?))
    }

    /// The frame of a block's rows; `None` when it saves less than a quarter.
    ///
    /// # Errors
    /// When zstd refuses, which it does not for content that fits into a block.
    pub(crate) fn compress(&mut self, rows: &[u8]) -> Result<Option<Vec<u8>>, IndexError> {
        let frame = self.0.compress(rows).map_err(|e| IndexError::writing(&e))?;
        Ok((frame.len() <= rows.len() / 4 * 3).then_some(frame))
    }
}

/// Decompresses the rows in a frame.
///
/// # Errors
/// When it is not a frame, is empty, or holds more than a block can.
pub(crate) fn decompress(frame: &[u8]) -> Result<Vec<u8>, IndexError> {
    let unreadable = |e: std::io::Error| IndexError::from(format!("compressed rows: {e}"));
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new()?),
        };
        let rows = decompressor
            .decompress(frame, PAYLOAD_MAX)
            .map_err(unreadable)?;
        // zstd accepts zero bytes as an empty frame, but no block is without rows
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
        // of a flush, and of a merge
        for level in [0, 1] {
            let mut compressor = RowCompressor::new(level).unwrap();
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
    }

    #[test]
    fn what_is_cut_or_larger_than_a_block_is_refused() {
        let mut compressor = RowCompressor::new(1).unwrap();
        let frame = compressor.compress(&[7; 4000]).unwrap().unwrap();
        for cut in 0..frame.len() {
            assert!(decompress(&frame[..cut]).is_err(), "{cut}");
        }
        let large = compressor.compress(&[7; PAYLOAD_MAX + 1]).unwrap().unwrap();
        assert!(decompress(&large).is_err());
    }
}
