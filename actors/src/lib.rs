//! Take turns: one actor per CVU, tenant supervisors, and the ports to the outside.

pub mod ports;
