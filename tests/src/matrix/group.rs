//! Cells that are played one behind the other under the same circumstances.

use super::table::Table;
use super::{Cell, Fault, Iwarp, Peer, Role};
use crate::{Network, Place};

/// How many cells have one capture: a judge has to read it in a minute or two. Those of iWARP have longer ones.
const MOST: usize = 30;
const MOST_OF_IWARP: usize = 16;

/// Under what circumstances a cell is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub(super) peer: Peer,
    role: Role,
    pub(super) fault: Fault,
    pub(super) link_mtu: u16,
    in_vlan: bool,
    pub(super) iwarp: Option<Iwarp>,
    /// Streams may end anywhere.
    pub(super) ends_badly: bool,
}

/// Cells with the same setting.
#[derive(Debug)]
pub struct Group {
    /// The setting.
    pub setting: Setting,
    /// The cells.
    pub cells: Vec<Cell>,
}

/// What became of a cell.
#[derive(Debug)]
pub struct Played {
    /// The cell.
    pub cell: Cell,
    /// How long the last game took.
    pub seconds: f64,
    /// Why it was played again, each time.
    pub again: Vec<String>,
    /// What went wrong, if anything did.
    pub failure: Option<String>,
}

impl Setting {
    fn of(cell: &Cell) -> Self {
        let Cell { peer, role, fault, link_mtu, in_vlan, iwarp, .. } = *cell;
        let ends_badly = cell.mishap.is_some();
        Self { peer, role, fault, link_mtu, in_vlan, iwarp, ends_badly }
    }

    /// Where what is played passes by. Nobody else sees at a veth pair what ours see: the kernel passes superframes there,
    /// of many packets each, whose checksums are not written yet.
    pub(super) fn interface<'a>(&self, place: &'a Place) -> Option<&'a str> {
        match self.peer {
            Peer::Linux => Some(place.guest.tap()),
            Peer::OursAtTap => Some(Network::SECOND_TAP),
            Peer::OursAtVeth => None,
        }
    }
}

impl Group {
    /// The cells, in their order but for those of the same setting, which come together.
    pub fn of(cells: impl IntoIterator<Item = Cell>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for cell in cells {
            let setting = Setting::of(&cell);
            let most = if cell.iwarp.is_some() { MOST_OF_IWARP } else { MOST };
            match groups.iter_mut().rfind(|group| group.setting == setting) {
                Some(group) if group.cells.len() < most => group.cells.push(cell),
                _ => groups.push(Self { setting, cells: vec![cell] }),
            }
        }
        groups
    }

    /// Plays all of them, and tells of each. Gives the number of RoCE packets that were captured, or says what is wrong with
    /// one of them.
    pub fn play(&self, place: &mut Place, mut tell: impl FnMut(Played)) -> Result<u64, String> {
        let mut table = Table::prepare(place, self);
        for cell in &self.cells {
            tell(table.play(cell));
        }
        table.clear()
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} as {}", self.peer, self.role)?;
        if let Some(iwarp) = self.iwarp {
            write!(f, ", {iwarp}")?;
        }
        if self.link_mtu != Cell::LINK_MTU {
            write!(f, ", link MTU {}", self.link_mtu)?;
        }
        if self.in_vlan {
            f.write_str(", VLAN")?;
        }
        if self.fault != Fault::None {
            write!(f, ", {}", self.fault)?;
        }
        if self.ends_badly {
            f.write_str(", mishaps")?;
        }
        Ok(())
    }
}
