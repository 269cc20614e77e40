//! The start-up of MPA: one frame each way, before the first FPDU (RFC 5044 §7.1, RFC 6581).
//!
//! * [`Initiator`] says what we want in its request and judges the reply.
//! * [`Responder`] takes a request and holds it until the application has accepted or rejected it.
//!
//! Both take bytes in any pieces, keep at most one frame, and leave what follows it alone. Neither knows how long it has
//! waited: whoever owns the stream gives up on peers that say nothing (RFC 5044 §7.1.2 wants that).

mod buffer;
mod fault;
mod initiator;
mod responder;
mod terms;

pub use fault::{PrivateDataTooLong, Refusal, StartUpFault};
pub use initiator::{Initiator, Reply};
pub use responder::{Asked, Request, Responder};
pub use terms::{ReadySet, Terms};
