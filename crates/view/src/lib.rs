//! Captures drawn: [`page`](Capture::page) makes one self-contained page of a capture, to be looked into without a network,
//! [`ladder`](Capture::ladder) prints it for a terminal, [`picture`](Capture::picture) draws one flow as SVG.
//!
//! # Design
//!
//! A [`Capture`] is read in one pass (`read.rs`): `rdmalab-trace` takes each packet apart, `rdmalab-lint` says what it is in its
//! conversation, and of both only what drawing needs is kept: a row for each packet, its line, and how its fields are laid out.
//!
//! **Ends are addresses.** Two ends that have one are told apart when all is read, by what their conversation says of queue pairs
//! and ports (`ends/one_address.rs`).
//!
//! **Fields are not kept as text.** Packets with the same stack of headers share a *layout* (`layout.rs`): names, places in the
//! frame, ways of writing. The page reads values out of the frame's bytes by it, so that bytes and fields cannot disagree. What
//! stands nowhere in the frame (a verdict, the words of an error) is kept beside it.
//!
//! **Frames are packed** in pieces of about a megabyte (`frames.rs`), which the page unpacks when one of their packets is looked
//! at. What it needs at once, some bytes for each packet, are columns of small numbers (`columns.rs`).
//!
//! **A capture is hostile.** Nothing of it becomes markup or script: all of it stands in the page as base64, and the page's
//! script (`page/*.js`) sets text, never markup. SVG is escaped, control characters never reach a terminal.
//!
//! **Bounds**: [`MOST_PACKETS`], [`MOST_BYTES`]; more is refused with a word on how to cut the capture, and soon, if a file is asked
//! first whether it [`fits`].

#![forbid(unsafe_code)]

mod columns;
mod ends;
mod error;
mod flows;
mod frames;
mod kind;
mod layout;
mod model;
mod operations;
mod page;
mod read;
mod segments;
mod svg;
mod text;
mod texts;
mod words;

pub use error::ViewError;
pub use model::Capture;
pub use read::{MOST_BYTES, MOST_PACKETS, Options, fits, read};
pub use svg::{MOST_DRAWN, PictureError};
