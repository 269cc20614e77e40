//! The two pages that the matrix fills.

use super::{Cell, cells, siw};

/// A page, by the kind of peer that Linux is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Page {
    /// Linux' RoCE v2, and two of ours.
    Rxe,
    /// Linux' iWARP.
    Siw,
}

impl Page {
    /// What is played for it.
    pub fn cells(self) -> Vec<Cell> {
        match self {
            Self::Rxe => cells::cells(),
            Self::Siw => siw::cells(),
        }
    }

    /// What it begins with, to the head of the table of versions.
    pub(super) fn head(self) -> &'static str {
        match self {
            Self::Rxe => include_str!("page/rxe.md"),
            Self::Siw => include_str!("page/siw.md"),
        }
    }
}
