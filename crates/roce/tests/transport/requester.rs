//! What a requester sends, and what it makes of what comes back. One file for each behaviour.

mod ack_requests;
mod acknowledgements;
mod atomic_writes;
mod bad_responses;
mod drain;
mod empty_messages;
mod failing_local_work;
mod fence;
mod flow_limits;
mod flushes;
mod implied_nak;
mod inline;
mod local_errors;
mod local_work;
mod many_elements;
mod read_retry;
mod remote_errors;
mod reset;
mod rnr;
mod segmentation;
mod sends_with_invalidate;
mod sequence_errors;
mod signaling;
mod stray_responses;
mod timeouts;
mod wrap;
