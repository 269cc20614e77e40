//! The serial line on which a guest is told what to do: one line for each order, a word and what it is about.
//!
//! The other way to tell it, files that it looks for, cost a third of its one slow processor, which the RDMA stack
//! under test was then short of.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::Network;
use crate::process::run;

/// The end of the line that orders are written to. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Orders {
    path: PathBuf,
    line: Arc<File>,
}

impl Orders {
    /// Makes the line for a guest that is to be started.
    #[track_caller]
    pub(super) fn new(network: &Network, guest: &str) -> Self {
        let lab = network.lab();
        let path = lab.folder().join(lab.unique(&format!("{guest}-orders")));
        // QEMU's kind of pipe: two, with these endings, the first one into the guest.
        let ends = ["in", "out"].map(|end| path.with_extension(end));
        let mut make = Command::new("mkfifo");
        make.args(&ends);
        run(&lab.unique("mkfifo"), &mut make, lab.folder(), Duration::from_secs(20))
            .unwrap_or_else(|error| panic!("{error}"));
        // Opened for reading, too, since otherwise opening would wait for a reader, which may never come.
        let line =
            OpenOptions::new().read(true).write(true).open(&ends[0]).expect("the pipe was made just now");
        Self { path, line: Arc::new(line) }
    }

    /// What QEMU has to be told. The guest's second serial port.
    pub(super) fn arguments(&self) -> [String; 4] {
        let path = super::comma_doubled(Path::new(&self.path));
        ["-chardev".into(), format!("pipe,id=orders,path={path}"), "-serial".into(), "chardev:orders".into()]
    }

    /// Gives an order. The pipe holds thousands: nothing waits for the guest.
    pub(super) fn give(&self, order: &str, about: &str) {
        // Whatever goes wrong shows in what the guest does not do.
        let _ = (&*self.line).write_all(format!("{order} {about}\n").as_bytes());
    }
}
