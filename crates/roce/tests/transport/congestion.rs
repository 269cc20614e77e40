//! Congestion: marks of the network lead to notifications, notifications to a lower rate.

mod notifications;
mod rates;
