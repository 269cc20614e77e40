//! A guest that vanishes: its machine stops, for a while or for good.

use super::Guest;

impl Guest {
    /// Stops its machine between two instructions, as if its power were gone; memory and queue pairs stay.
    pub fn freeze(&mut self) {
        self.signal("STOP");
    }

    /// Lets it go on where it was frozen.
    pub fn thaw(&mut self) {
        self.signal("CONT");
    }

    /// Ends its machine at once. Nothing can be asked of it any more.
    pub fn kill(&mut self) {
        self.signal("KILL");
    }

    fn signal(&mut self, name: &str) {
        if let Some(machine) = &mut self.machine {
            machine.signal(name);
        }
    }
}
