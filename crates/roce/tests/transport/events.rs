//! Asynchronous events, for all kinds of queue pairs: each once and in the right order. One file for each behaviour.

mod communication_established;
mod completion_queue_overrun;
mod notifications;
mod order;
mod send_queue_drained;
