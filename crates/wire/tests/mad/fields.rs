//! The field tables: side by side without gap or overlap, and of the same mind as the structs.

use proptest::prelude::*;
use rdmalab_wire::mad::{CmMessage, DATA_LENGTH, Field, MadHeader, Path};

use crate::{ATTRIBUTES, data};

fn assert_side_by_side(fields: &[Field], length: usize, title: &str) {
    let mut next = 0;
    for field in fields {
        assert_eq!(field.byte * 8 + field.bit, next, "{title}: {}", field.name);
        assert!(field.bit < 8 && field.bits > 0, "{title}: {}", field.name);
        next += field.bits;
    }
    assert_eq!(next, length * 8, "{title}");
}

#[test]
fn fields_lie_side_by_side_without_gap_or_overlap() {
    assert_side_by_side(MadHeader::FIELDS, MadHeader::LENGTH, "header");
    for attribute in ATTRIBUTES {
        let message = CmMessage::decode(attribute, &[0; DATA_LENGTH]).unwrap();
        assert_side_by_side(message.fields(), DATA_LENGTH, message.name());
        assert_eq!(message.fields().last().unwrap().name, "private_data");
    }
}

/// A name stands for one field in each message, but for `infiniband.reserved` and one that Wireshark uses twice.
#[test]
fn names_are_used_once() {
    for attribute in ATTRIBUTES {
        let fields = CmMessage::decode(attribute, &[0; DATA_LENGTH]).unwrap().fields();
        for (index, field) in fields.iter().enumerate() {
            let again = fields[..index].iter().any(|earlier| earlier.wireshark == field.wireshark);
            let twice = ["infiniband.reserved", "infiniband.cm.req.alt_reserved1"];
            assert!(!again || twice.contains(&field.wireshark), "{}", field.wireshark);
            assert!(!fields[..index].iter().any(|earlier| earlier.name == field.name), "{}", field.name);
        }
    }
}

/// A value out of a struct.
#[derive(Debug, PartialEq)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

trait IntoValue {
    fn into_value(self) -> Value;
}

macro_rules! number {
    ($($type:ty: $number:ident => $expression:expr,)*) => {
        $(impl IntoValue for $type {
            fn into_value(self) -> Value {
                let $number = self;
                Value::Number($expression)
            }
        })*
    };
}

number! {
    bool: set => u64::from(set),
    u8: number => u64::from(number),
    u16: number => u64::from(number),
    u32: number => u64::from(number),
    u64: number => number,
    rdmalab_wire::Qpn: qpn => u64::from(qpn.value()),
    rdmalab_wire::Psn: psn => u64::from(psn.value()),
    rdmalab_wire::PKey: key => u64::from(key.value()),
    rdmalab_wire::QKey: key => u64::from(key.value()),
    rdmalab_wire::ServiceId: id => id.0,
    rdmalab_wire::mad::TransportService: service => service as u64,
    rdmalab_wire::mad::MraMessage: message => message as u64,
    rdmalab_wire::mad::RejMessage: message => message as u64,
    rdmalab_wire::mad::RejReason: reason => u64::from(reason.0),
    rdmalab_wire::mad::SidrStatus: status => u64::from(status.0),
    rdmalab_wire::mad::ApStatus: status => u64::from(status.0),
    rdmalab_wire::mad::MadClass: class => u64::from(class.0),
    rdmalab_wire::mad::MadMethod: method => u64::from(method.0),
}

impl<const N: usize> IntoValue for [u8; N] {
    fn into_value(self) -> Value {
        Value::Bytes(self.to_vec())
    }
}

impl IntoValue for rdmalab_wire::Gid {
    fn into_value(self) -> Value {
        Value::Bytes(self.0.to_vec())
    }
}

/// The named fields of a struct, with their names behind a prefix.
macro_rules! values {
    ($struct:expr, $prefix:literal, $($field:ident)*) => {
        [$((concat!($prefix, stringify!($field)), $struct.$field.into_value()),)*].into_iter().collect::<Vec<_>>()
    };
}

/// The fields of a path behind a prefix.
macro_rules! path {
    ($path:expr, $prefix:literal) => {{
        let path: Path = $path;
        values!(path, $prefix, local_lid remote_lid local_gid remote_gid flow_label reserved_after_flow_label
            packet_rate traffic_class hop_limit service_level subnet_local reserved_after_subnet_local
            local_ack_timeout reserved_after_ack_timeout)
    }};
}

fn values(message: &CmMessage) -> Vec<(&'static str, Value)> {
    match message {
        CmMessage::Req(m) => [
            values!(m, "", local_communication_id reserved_after_id service_id local_ca_guid
                reserved_after_guid local_queue_key local_qpn responder_resources local_ee_context
                initiator_depth remote_ee_context remote_response_timeout transport_service
                end_to_end_flow_control starting_psn local_response_timeout retry_count partition_key
                path_mtu_code rdc_exists rnr_retry_count max_cm_retries shared_receive_queue
                extended_transport),
            path!(m.primary, "primary."),
            path!(m.alternate, "alternate."),
            values!(m, "", private_data),
        ]
        .into_iter()
        .flatten()
        .collect(),
        CmMessage::Mra(m) => values!(m, "", local_communication_id remote_communication_id message
            reserved_after_message service_timeout reserved_after_timeout private_data),
        CmMessage::Rej(m) => values!(m, "", local_communication_id remote_communication_id message
            reserved_after_message information_length reserved_after_length reason additional_information
            private_data),
        CmMessage::Rep(m) => values!(m, "", local_communication_id remote_communication_id local_queue_key
            local_qpn reserved_after_qpn local_ee_context reserved_after_ee_context starting_psn
            reserved_after_psn responder_resources initiator_depth target_ack_delay failover_accepted
            end_to_end_flow_control rnr_retry_count shared_receive_queue reserved_after_srq local_ca_guid
            private_data),
        CmMessage::Rtu(m) => values!(m, "", local_communication_id remote_communication_id private_data),
        CmMessage::Dreq(m) => values!(m, "", local_communication_id remote_communication_id remote_qpn
            reserved private_data),
        CmMessage::Drep(m) => values!(m, "", local_communication_id remote_communication_id private_data),
        CmMessage::SidrReq(m) => values!(m, "", request_id partition_key reserved service_id private_data),
        CmMessage::SidrRep(m) => {
            values!(m, "", request_id status information_length reserved_after_length qpn
            reserved_after_qpn service_id queue_key additional_information private_data)
        }
        CmMessage::Lap(m) => values!(m, "", local_communication_id remote_communication_id
            reserved_after_ids remote_qpn remote_response_timeout reserved_after_timeout
            reserved_before_path local_lid remote_lid local_gid remote_gid flow_label
            reserved_after_flow_label traffic_class hop_limit reserved_after_hop_limit packet_rate
            service_level subnet_local reserved_after_subnet_local local_ack_timeout
            reserved_after_ack_timeout private_data),
        CmMessage::Apr(m) => values!(m, "", local_communication_id remote_communication_id
            information_length status reserved additional_information private_data),
    }
}

fn assert_agreement(fields: &[Field], bytes: &[u8], values: Vec<(&'static str, Value)>) {
    assert_eq!(fields.len(), values.len());
    for (field, (name, value)) in fields.iter().zip(values) {
        assert_eq!(field.name, name);
        let found = match &value {
            Value::Number(_) => Value::Number(field.value(bytes).unwrap()),
            Value::Bytes(_) => Value::Bytes(field.slice(bytes).unwrap().to_vec()),
        };
        assert_eq!(found, value, "{name}");
    }
}

proptest! {
    #[test]
    fn tables_agree_with_the_structs(attribute in ATTRIBUTES, data in data()) {
        let message = CmMessage::decode(attribute, &data).unwrap();
        assert_agreement(message.fields(), &data, values(&message));
    }

    #[test]
    fn table_of_the_header_agrees_with_the_struct(bytes in any::<[u8; 24]>()) {
        let header = MadHeader::decode(&bytes);
        let values = values!(header, "", base_version class class_version method status class_specific
            transaction_id attribute_id reserved attribute_modifier);
        assert_agreement(MadHeader::FIELDS, &bytes, values);
    }
}
