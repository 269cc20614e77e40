//! The fields of REQ as data; Wireshark's names stand beside ours.

use super::super::super::field::{Field, FieldGroup, Form};
use super::super::super::ip_cm::ip_cm_fields;
use super::super::super::service_id::service_id_fields;
use super::Req;

impl Req {
    /// The fields by name, offsets counted from the message's start.
    pub const FIELDS: &'static [Field] = &[
        Field::number(0, 0, 32, "local_communication_id", "infiniband.cm.req"),
        Field::bytes(4, 4, "reserved_after_id", "infiniband.reserved"),
        Field::number(8, 0, 64, "service_id", "infiniband.cm.req.serviceid"),
        Field::number(16, 0, 64, "local_ca_guid", "infiniband.cm.req.localcaguid"),
        Field::bytes(24, 4, "reserved_after_guid", "infiniband.reserved"),
        Field::number(28, 0, 32, "local_queue_key", "infiniband.cm.req.localqkey"),
        Field::number(32, 0, 24, "local_qpn", "infiniband.cm.req.localqpn"),
        Field::number(35, 0, 8, "responder_resources", "infiniband.cm.req.responderres"),
        Field::number(36, 0, 24, "local_ee_context", "infiniband.cm.req.localeecn"),
        Field::number(39, 0, 8, "initiator_depth", "infiniband.cm.req.initdepth"),
        Field::number(40, 0, 24, "remote_ee_context", "infiniband.cm.req.remoteeecn"),
        Field::number(43, 0, 5, "remote_response_timeout", "infiniband.cm.req.remoteresptout"),
        Field::number(43, 5, 2, "transport_service", "infiniband.cm.req.transpsvctype"),
        Field::number(43, 7, 1, "end_to_end_flow_control", "infiniband.cm.req.e2eflowctrl"),
        Field::number(44, 0, 24, "starting_psn", "infiniband.cm.req.startpsn"),
        Field::number(47, 0, 5, "local_response_timeout", "infiniband.cm.req.localresptout"),
        Field::number(47, 5, 3, "retry_count", "infiniband.cm.req.retrcount"),
        Field::number(48, 0, 16, "partition_key", "infiniband.cm.req.pkey"),
        Field::number(50, 0, 4, "path_mtu_code", "infiniband.cm.req.pppmtu"),
        Field::number(50, 4, 1, "rdc_exists", "infiniband.cm.req.rdcexist"),
        Field::number(50, 5, 3, "rnr_retry_count", "infiniband.cm.req.rnrretrcount"),
        Field::number(51, 0, 4, "max_cm_retries", "infiniband.cm.req.maxcmretr"),
        Field::number(51, 4, 1, "shared_receive_queue", "infiniband.cm.req.srq"),
        Field::number(51, 5, 3, "extended_transport", "infiniband.cm.req.ext_transport"),
        Field::number(52, 0, 16, "primary.local_lid", "infiniband.cm.req.prim_locallid")
            .written(Form::Decimal),
        Field::number(54, 0, 16, "primary.remote_lid", "infiniband.cm.req.prim_remotelid")
            .written(Form::Decimal),
        Field::bytes(56, 16, "primary.local_gid", "infiniband.cm.req.prim_localgid")
            .written(Form::Gid("infiniband.cm.req.prim_localgid_ipv4")),
        Field::bytes(72, 16, "primary.remote_gid", "infiniband.cm.req.prim_remotegid")
            .written(Form::Gid("infiniband.cm.req.prim_remotegid_ipv4")),
        Field::number(88, 0, 20, "primary.flow_label", "infiniband.cm.req.prim_flowlabel")
            .written(Form::Hexadecimal(8)),
        Field::number(90, 4, 6, "primary.reserved_after_flow_label", "infiniband.cm.req.prim_reserved0")
            .written(Form::Hexadecimal(8)),
        Field::number(91, 2, 6, "primary.packet_rate", "infiniband.cm.req.prim_pktrate")
            .written(Form::Hexadecimal(8)),
        Field::number(92, 0, 8, "primary.traffic_class", "infiniband.cm.req.prim_tfcclass"),
        Field::number(93, 0, 8, "primary.hop_limit", "infiniband.cm.req.prim_hoplim"),
        Field::number(94, 0, 4, "primary.service_level", "infiniband.cm.req.prim_sl"),
        Field::number(94, 4, 1, "primary.subnet_local", "infiniband.cm.req.prim_subnetlocal"),
        Field::number(94, 5, 3, "primary.reserved_after_subnet_local", "infiniband.cm.req.prim_reserved1"),
        Field::number(95, 0, 5, "primary.local_ack_timeout", "infiniband.cm.req.prim_localacktout"),
        Field::number(95, 5, 3, "primary.reserved_after_ack_timeout", "infiniband.cm.req.prim_reserved2"),
        Field::number(96, 0, 16, "alternate.local_lid", "infiniband.cm.req.alt_locallid")
            .written(Form::Decimal),
        Field::number(98, 0, 16, "alternate.remote_lid", "infiniband.cm.req.alt_remotelid")
            .written(Form::Decimal),
        Field::bytes(100, 16, "alternate.local_gid", "infiniband.cm.req.alt_localgid"),
        Field::bytes(116, 16, "alternate.remote_gid", "infiniband.cm.req.alt_remotegid"),
        Field::number(132, 0, 20, "alternate.flow_label", "infiniband.cm.req.alt_flowlabel")
            .written(Form::Hexadecimal(8)),
        Field::number(134, 4, 6, "alternate.reserved_after_flow_label", "infiniband.cm.req.alt_reserved0")
            .written(Form::Hexadecimal(8)),
        Field::number(135, 2, 6, "alternate.packet_rate", "infiniband.cm.req.alt_pktrate")
            .written(Form::Hexadecimal(8)),
        Field::number(136, 0, 8, "alternate.traffic_class", "infiniband.cm.req.alt_tfcclass"),
        Field::number(137, 0, 8, "alternate.hop_limit", "infiniband.cm.req.alt_hoplim"),
        Field::number(138, 0, 4, "alternate.service_level", "infiniband.cm.req.alt_sl"),
        Field::number(138, 4, 1, "alternate.subnet_local", "infiniband.cm.req.alt_subnetlocal"),
        Field::number(138, 5, 3, "alternate.reserved_after_subnet_local", "infiniband.cm.req.alt_reserved1"),
        Field::number(139, 0, 5, "alternate.local_ack_timeout", "infiniband.cm.req.alt_localacktout"),
        // Wireshark has one name for both reserved fields.
        Field::number(139, 5, 3, "alternate.reserved_after_ack_timeout", "infiniband.cm.req.alt_reserved1"),
        Field::bytes(140, 92, "private_data", "infiniband.cm.req.private"),
    ];
}

impl Req {
    /// What a dump shows below the service ID and in place of the private data, if the service is an IP port.
    pub(in super::super) fn ip_cm_fields(&self) -> (Option<FieldGroup>, Option<FieldGroup>) {
        let Some((header, _)) = self.ip_cm() else { return (None, None) };
        let fields = if header.ip_version == 4 { IP_CM_V4 } else { IP_CM_V6 };
        (Some(FieldGroup { base: 8, fields: SERVICE_ID }), Some(FieldGroup { base: 140, fields }))
    }
}

const SERVICE_ID: &[Field] = service_id_fields!("infiniband.cm.req.serviceid");
const IP_CM_V4: &[Field] = ip_cm_fields!("infiniband.cm.req.ip_cm", 56, ipv4);
const IP_CM_V6: &[Field] = ip_cm_fields!("infiniband.cm.req.ip_cm", 56, ipv6);
