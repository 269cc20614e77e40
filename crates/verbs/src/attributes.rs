//! What a queue pair is made with, and the attributes that `modify` sets.

use rdmalab_wire::{PathMtu, Psn, QKey, Qpn};

use crate::access::Access;
use crate::path::Path;
use crate::state::State;

/// Sizes of a queue pair, fixed when it is made (`ibv_qp_cap`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Send requests that may be queued.
    pub max_send_requests: u32,
    /// Receives that may be queued.
    pub max_receive_requests: u32,
    /// Elements of a send request.
    pub max_send_elements: u32,
    /// Elements of a receive.
    pub max_receive_elements: u32,
    /// Bytes that a send request may carry in itself, in place of elements. Each place of the send queue has room for
    /// so many from the start.
    pub max_inline: u32,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            max_send_requests: 128,
            max_receive_requests: 128,
            max_send_elements: 4,
            max_receive_elements: 4,
            max_inline: 0,
        }
    }
}

/// Attributes of a queue pair (`ibv_qp_attr`). What is `None` is left as it is. Which change of state takes which of them
/// is in [`transitions`](crate::transitions); one that the type does not have is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The state to go to; without it, the attributes are changed in the present state.
    pub state: Option<State>,
    /// Index into the port's table of partition keys. For all types.
    pub partition_index: Option<u16>,
    /// What peers may do through this queue pair. For all types but UD.
    pub access: Option<Access>,
    /// The way to the peer. For all types but UD.
    pub path: Option<Path>,
    /// Largest payload of a packet. For all types but UD, where it is the port's.
    pub path_mtu: Option<PathMtu>,
    /// The peer's queue pair. For all types but UD.
    pub destination: Option<Qpn>,
    /// The PSN with which the peer begins. For all types but UD.
    pub receive_psn: Option<Psn>,
    /// The PSN with which we begin. For all types.
    pub send_psn: Option<Psn>,
    /// READs and atomics that we answer at once (`max_dest_rd_atomic`), at most 128. For RC and XRC_TGT.
    pub max_destination_reads: Option<u8>,
    /// READs and atomics that we have outstanding at once (`max_rd_atomic`), at most 128. For RC and XRC_INI.
    pub max_reads: Option<u8>,
    /// What a receiver that is not ready tells the peer to wait: a 5-bit code. For RC and XRC_TGT.
    pub min_rnr_timer: Option<u8>,
    /// Local ACK timeout: a 5-bit code, 4.096 us x 2^code, 0 for none. For RC, XRC_INI and XRC_TGT.
    pub timeout: Option<u8>,
    /// Retries after timeouts and sequence errors: 0 to 7. For RC and XRC_INI.
    pub retry_count: Option<u8>,
    /// Retries after a receiver was not ready: 0 to 7, 7 for no limit. For RC and XRC_INI.
    pub rnr_retry: Option<u8>,
    /// What datagrams must carry to be received. For UD.
    pub queue_key: Option<QKey>,
}

macro_rules! attributes {
    ($($name:ident $field:ident $verbs:literal $bit:literal,)*) => {
        bitflags::bitflags! {
            /// A set of attributes (the mask of `ibv_modify_qp`).
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
            pub struct AttributeSet: u16 { $(#[doc = concat!("`", $verbs, "`")] const $name = $bit;)* }
        }

        impl Attributes {
            /// Which attributes have a value; the state itself does not count.
            pub fn set(&self) -> AttributeSet {
                let mut set = AttributeSet::empty();
                $(if self.$field.is_some() { set |= AttributeSet::$name; })*
                set
            }
        }

        impl AttributeSet {
            /// The verbs' names of the attributes in the set, in the order of their bits.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                const NAMES: &[(AttributeSet, &str)] = &[$((AttributeSet::$name, $verbs),)*];
                NAMES.iter().filter(move |(attribute, _)| self.contains(*attribute)).map(|(_, name)| *name)
            }
        }
    };
}

// One row an attribute, so that the mask, the names and the fields cannot drift apart.
attributes! {
    PARTITION partition_index "IBV_QP_PKEY_INDEX" 1,
    ACCESS access "IBV_QP_ACCESS_FLAGS" 2,
    PATH path "IBV_QP_AV" 4,
    PATH_MTU path_mtu "IBV_QP_PATH_MTU" 8,
    DESTINATION destination "IBV_QP_DEST_QPN" 16,
    RECEIVE_PSN receive_psn "IBV_QP_RQ_PSN" 32,
    SEND_PSN send_psn "IBV_QP_SQ_PSN" 64,
    MAX_DESTINATION_READS max_destination_reads "IBV_QP_MAX_DEST_RD_ATOMIC" 128,
    MAX_READS max_reads "IBV_QP_MAX_QP_RD_ATOMIC" 256,
    MIN_RNR_TIMER min_rnr_timer "IBV_QP_MIN_RNR_TIMER" 512,
    TIMEOUT timeout "IBV_QP_TIMEOUT" 1024,
    RETRY_COUNT retry_count "IBV_QP_RETRY_CNT" 2048,
    RNR_RETRY rnr_retry "IBV_QP_RNR_RETRY" 4096,
    QUEUE_KEY queue_key "IBV_QP_QKEY" 8192,
}
