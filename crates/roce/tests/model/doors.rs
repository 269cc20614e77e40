//! What is known of the doors of both sides: windows and fast regions, which work in the queue opens and shuts.

use crate::pair::peer::Door;
use crate::scenario::DoorKind;

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// With which it was opened last; 0 before.
    number: u8,
    /// Which the next to open it takes.
    next: u8,
    is_open: bool,
    /// It was changed in two ways at once: what came of it depends on who was first.
    is_unsure: bool,
}

/// As completions tell it: while nothing under way changes a door, this is what it is.
#[derive(Debug, Default)]
pub struct Doors {
    states: [[State; 3]; 2],
}

impl Doors {
    fn state(&mut self, side: usize, door: DoorKind) -> &mut State {
        &mut self.states[side][door as usize]
    }

    /// The door with the number under which it was opened last.
    pub fn present(&self, side: usize, door: DoorKind) -> Door {
        numbered(door, self.states[side][door as usize].number)
    }

    /// A number that the door has not had yet. There are not always any left.
    pub fn next_number(&mut self, side: usize, door: DoorKind) -> Option<u8> {
        let next = &mut self.state(side, door).next;
        *next = next.checked_add(1)?;
        Some(*next)
    }

    pub fn is_open(&self, side: usize, door: DoorKind) -> bool {
        self.states[side][door as usize].is_open
    }

    /// Whether it cannot be told what it is, until the connection is made anew.
    pub fn is_unsure(&self, side: usize, door: DoorKind) -> bool {
        self.states[side][door as usize].is_unsure
    }

    pub fn doubt(&mut self, side: usize, door: DoorKind) {
        self.state(side, door).is_unsure = true;
    }

    pub fn opened(&mut self, side: usize, door: DoorKind, number: u8) {
        let state = self.state(side, door);
        (state.number, state.is_open) = (number, true);
    }

    pub fn closed(&mut self, side: usize, door: DoorKind) {
        self.state(side, door).is_open = false;
    }
}

pub fn numbered(door: DoorKind, number: u8) -> Door {
    match door {
        DoorKind::WindowOne => Door::WindowOne(number),
        DoorKind::WindowTwo => Door::WindowTwo(number),
        DoorKind::Fast => Door::Fast(number),
    }
}
