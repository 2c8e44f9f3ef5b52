//! Room `actors` of Caudal.
