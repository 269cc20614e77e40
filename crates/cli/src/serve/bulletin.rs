//! What happened since it was last told: who failed, and who was refused. The rest is in the table.

use rdmalab_programs::serve::Happening;

/// Lines that are kept; of more only the number.
const MOST: usize = 8;

/// What happened since it was last told.
#[derive(Debug, Default)]
pub struct Bulletin {
    lines: Vec<String>,
    more: u64,
}

impl Bulletin {
    /// Something happened.
    pub fn tell(&mut self, happening: &Happening<'_>) {
        let (program, peer, what) = match happening {
            Happening::Refused(program, peer, why) => (program, peer, format!("was refused: {why}")),
            Happening::Gone(program, peer, Some(failure)) => (program, peer, failure.to_string()),
            _ => return,
        };
        if self.lines.len() >= MOST {
            self.more += 1;
            return;
        }
        let peer = peer.map_or_else(|| "somebody".to_owned(), |peer| peer.to_string());
        self.lines.push(format!("{} {peer}: {what}", program.name()));
    }

    /// Takes out what there is to tell.
    pub fn take(&mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.lines);
        if self.more > 0 {
            lines.push(format!("and {} more", self.more));
        }
        self.more = 0;
        lines
    }
}

#[cfg(test)]
mod tests {
    use rdmalab_programs::serve::Program;

    use super::*;

    #[test]
    fn a_flood_of_refusals_is_a_few_lines_and_a_number() {
        let mut bulletin = Bulletin::default();
        for _ in 0..1000 {
            bulletin.tell(&Happening::Refused(Program::Rping, None, "no room"));
            bulletin.tell(&Happening::Came(Program::Rping, None));
        }
        let lines = bulletin.take();
        assert_eq!(lines.len(), MOST + 1);
        assert_eq!(lines.first().map(String::as_str), Some("rping somebody: was refused: no room"));
        assert_eq!(lines.last().map(String::as_str), Some("and 992 more"));
        assert!(bulletin.take().is_empty());
    }
}
