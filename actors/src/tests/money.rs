//! Holds, transfers between accounts and through the bank, batches: turns that involve several.
