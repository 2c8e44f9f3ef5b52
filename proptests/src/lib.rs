//! Room `proptests` of Caudal.
