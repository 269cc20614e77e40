//! Connections over iWARP, live: over the kernel's TCP, and over that of emulated hosts at the two ends of a cable.

mod exchange;
mod side;
