//! Two hosts on one link, in virtual time.

mod exchange;
mod hostile;
mod link;
mod receiving;
mod resolution;
mod streams;
mod vlan;
