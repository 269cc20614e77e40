//! What a requester sends, and what it makes of what comes back. One file for each behaviour.

mod ack_requests;
mod acknowledgements;
mod bad_responses;
mod drain;
mod fence;
mod flow_limits;
mod implied_nak;
mod local_errors;
mod read_retry;
mod remote_errors;
mod reset;
mod rnr;
mod segmentation;
mod sequence_errors;
mod stray_responses;
mod timeouts;
mod wrap;
