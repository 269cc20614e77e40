//! Two hosts on one link, in virtual time.

mod exchange;
mod groups;
mod hostile;
mod link;
mod receiving;
mod resolution;
mod streams;
mod vlan;
