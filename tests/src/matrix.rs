//! The matrix: every program of the field with us, in both roles, by every value of each dimension.
//!
//! [`Page::cells`] is all of it, as data. A [`Cell`] knows its command lines, [`Group`]s of cells are played in a [`Place`](crate::Place) one
//! behind the other, with one capture each, and a [`Report`] is the table of it all. The example `matrix` plays everything,
//! the live tests what is marked as daily.

mod cell;
mod cells;
mod commands;
mod fault;
mod game;
mod group;
mod mishap;
mod page;
mod report;
mod results;
mod sent;
mod siw;
mod table;

pub use cell::{Cell, Family, Peer, Program, Role};
pub use fault::Fault;
pub use group::{Group, Played, Setting};
pub use mishap::Mishap;
pub use page::Page;
pub use report::{Report, Versions};
pub use siw::{Carrier, Iwarp};
