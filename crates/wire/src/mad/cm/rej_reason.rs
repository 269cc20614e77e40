//! Why a connection was rejected.

use super::super::code::codes;

codes! {
    /// Reason of a REJ. Where the additional information says more, the constant tells what.
    RejReason(u16), "{:#06x}" {
        /// No queue pair is free.
        NO_QP = 1, "no_qp";
        /// No end-to-end context is free.
        NO_EEC = 2, "no_eec";
        /// Something else is used up.
        NO_RESOURCES = 3, "no_resources";
        /// The answer did not come in time.
        TIMEOUT = 4, "timeout";
        /// Something asked for is not supported.
        UNSUPPORTED_REQUEST = 5, "unsupported_request";
        /// The communication ID is not known.
        INVALID_COMMUNICATION_ID = 6, "invalid_communication_id";
        /// Communication IDs, queue pair numbers or contexts do not belong together.
        INVALID_COMMUNICATION_INSTANCE = 7, "invalid_communication_instance";
        /// Nobody listens under this service ID.
        INVALID_SERVICE_ID = 8, "invalid_service_id";
        /// The service does not speak this transport.
        INVALID_TRANSPORT_SERVICE_TYPE = 9, "invalid_transport_service_type";
        /// The sender believes this queue pair to be connected already; that connection must end first.
        STALE_CONNECTION = 10, "stale_connection";
        /// There is no such Reliable Datagram channel.
        RDC_NOT_EXIST = 11, "rdc_does_not_exist";
        /// The primary remote GID is not accepted; additional information: one that is.
        PRIMARY_REMOTE_GID_REJECTED = 12, "primary_remote_gid_rejected";
        /// The primary remote LID is not accepted; additional information: one that is.
        PRIMARY_REMOTE_LID_REJECTED = 13, "primary_remote_lid_rejected";
        /// The primary service level is not accepted; additional information: one that is.
        INVALID_PRIMARY_SL = 14, "invalid_primary_sl";
        /// The primary traffic class is not accepted; additional information: one that is.
        INVALID_PRIMARY_TRAFFIC_CLASS = 15, "invalid_primary_traffic_class";
        /// The primary hop limit is not accepted; additional information: one that is.
        INVALID_PRIMARY_HOP_LIMIT = 16, "invalid_primary_hop_limit";
        /// The primary packet rate is not accepted; additional information: one that is.
        INVALID_PRIMARY_PACKET_RATE = 17, "invalid_primary_packet_rate";
        /// The alternate remote GID is not accepted; additional information: one that is.
        ALTERNATE_REMOTE_GID_REJECTED = 18, "alternate_remote_gid_rejected";
        /// The alternate remote LID is not accepted; additional information: one that is.
        ALTERNATE_REMOTE_LID_REJECTED = 19, "alternate_remote_lid_rejected";
        /// The alternate service level is not accepted; additional information: one that is.
        INVALID_ALTERNATE_SL = 20, "invalid_alternate_sl";
        /// The alternate traffic class is not accepted; additional information: one that is.
        INVALID_ALTERNATE_TRAFFIC_CLASS = 21, "invalid_alternate_traffic_class";
        /// The alternate hop limit is not accepted; additional information: one that is.
        INVALID_ALTERNATE_HOP_LIMIT = 22, "invalid_alternate_hop_limit";
        /// The alternate packet rate is not accepted; additional information: one that is.
        INVALID_ALTERNATE_PACKET_RATE = 23, "invalid_alternate_packet_rate";
        /// Ask another connection manager at another port; additional information: where.
        PORT_CM_REDIRECT = 24, "port_and_cm_redirection";
        /// Ask for a path to another port; additional information: its GID.
        PORT_REDIRECT = 25, "port_redirection";
        /// The path MTU is too large; additional information: the largest.
        INVALID_PATH_MTU = 26, "invalid_path_mtu";
        /// Too few resources for RDMA READs and atomics.
        INSUFFICIENT_RESPONDER_RESOURCES = 27, "insufficient_responder_resources";
        /// The application said no; its private data may say why.
        CONSUMER_REJECT = 28, "consumer_reject";
        /// The RNR retry count is not accepted.
        RNR_RETRY_COUNT_REJECT = 29, "rnr_retry_count_reject";
        /// The communication ID is in use by another connection of the same node.
        DUPLICATE_LOCAL_COMMUNICATION_ID = 30, "duplicate_local_communication_id";
        /// The class version is not spoken here; additional information: the highest that is.
        INVALID_CLASS_VERSION = 31, "invalid_class_version";
        /// The primary flow label is not accepted; additional information: one that is.
        INVALID_PRIMARY_FLOW_LABEL = 32, "invalid_primary_flow_label";
        /// The alternate flow label is not accepted; additional information: one that is.
        INVALID_ALTERNATE_FLOW_LABEL = 33, "invalid_alternate_flow_label";
    }
}
