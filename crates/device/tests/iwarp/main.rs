//! Connections over iWARP, live: over the kernel's TCP, and over that of emulated hosts at the two ends of a cable.

mod ending;
mod exchange;
mod pair;
mod refusal;
mod side;
mod virtual_time;
