//! The lines of MADs.

use rdmalab_wire::mad::{
    ApStatus, Apr, CmMessage, Lap, MadClass, MadMethod, Mra, MraMessage, Rej, RejMessage, RejReason, Rep,
    Req, SidrRep, SidrReq, SidrStatus, TransportService,
};
use rdmalab_wire::{CmMad, Gid, Mad, MadHeader, QKey, Qpn, RawMad, ServiceId};

use crate::mads;

fn lines(name: &str) -> Vec<String> {
    mads(name).iter().map(|(_, bytes)| Mad::parse(bytes).unwrap().to_string()).collect()
}

#[test]
fn connection_of_rping() {
    assert_eq!(
        lines("rping"),
        [
            "CM REQ comm=0x3007b9de service=tcp:7174 rc qpn=0x000012 psn=3647352 mtu=4096 resources=1 depth=1 \
             retry=7 rnr=7 from=10.9.0.2:42272 to=10.9.0.1",
            "CM REP comm=0x33dcb6c5 remote=0x3007b9de qpn=0x000012 psn=13182942 resources=1 depth=1 rnr=7",
            "CM RTU comm=0x3007b9de remote=0x33dcb6c5",
            "CM DREQ comm=0x3007b9de remote=0x33dcb6c5 qpn=0x000012",
            "CM DREP comm=0x33dcb6c5 remote=0x3007b9de",
        ]
    );
    assert!(
        lines("rping_v6")[0].ends_with(" from=[fd00:9::2]:40034 to=fd00:9::1"),
        "{:?}",
        lines("rping_v6")
    );
}

#[test]
fn resolution_of_udaddy() {
    assert_eq!(
        lines("udaddy"),
        [
            "CM SIDR_REQ request=0x3307b9de service=udp:7174 pkey=0xffff from=10.9.0.2:51668 to=10.9.0.1",
            "CM SIDR_REP request=0x3307b9de service=udp:7174 status=valid qpn=0x00001e qkey=0x01234567",
        ]
    );
}

#[test]
fn messages_not_seen_on_captures() {
    let gid = |last| Gid::from(std::net::Ipv4Addr::new(10, 9, 0, last));
    let messages = [
        (
            CmMessage::Rej(Rej {
                local_communication_id: 1,
                remote_communication_id: 2,
                message: RejMessage::Req,
                reason: RejReason::CONSUMER_REJECT,
                ..Rej::default()
            }),
            "CM REJ comm=0x00000001 remote=0x00000002 message=REQ reason=consumer_reject",
        ),
        (
            CmMessage::Mra(Mra { message: MraMessage::Lap, service_timeout: 18, ..Mra::default() }),
            "CM MRA comm=0x00000000 remote=0x00000000 message=LAP timeout=18",
        ),
        (
            CmMessage::Lap(Lap { local_gid: gid(2), remote_gid: gid(1), ..Lap::default() }),
            "CM LAP comm=0x00000000 remote=0x00000000 qpn=0x000000 from=10.9.0.2 to=10.9.0.1",
        ),
        (
            CmMessage::Apr(Apr { status: ApStatus::IS_CURRENT_PATH, ..Apr::default() }),
            "CM APR comm=0x00000000 remote=0x00000000 status=is_current_path",
        ),
        (
            CmMessage::SidrReq(SidrReq { service_id: ServiceId(5), ..SidrReq::default() }),
            "CM SIDR_REQ request=0x00000000 service=0x0000000000000005 pkey=0x0000",
        ),
        (
            CmMessage::SidrRep(SidrRep { status: SidrStatus(9), ..SidrRep::default() }),
            "CM SIDR_REP request=0x00000000 service=0x0000000000000000 status=0x09 qpn=0x000000 qkey=0x00000000",
        ),
        (
            CmMessage::Rep(Rep {
                local_queue_key: QKey::new(3),
                shared_receive_queue: true,
                end_to_end_flow_control: true,
                ..Rep::default()
            }),
            "CM REP comm=0x00000000 remote=0x00000000 qpn=0x000000 qkey=0x00000003 psn=0 resources=0 depth=0 \
             rnr=0 srq credits",
        ),
        (
            CmMessage::Req(Req {
                service_id: ServiceId(0x1000_0000_0000_0001),
                transport_service: TransportService::Extended,
                extended_transport: 1,
                local_qpn: Qpn::new(9),
                path_mtu_code: 9,
                ..Req::default()
            }),
            "CM REQ comm=0x00000000 service=0x1000000000000001 extended=1 qpn=0x000009 psn=0 mtu=code_9 \
             resources=0 depth=0 retry=0 rnr=0 from=:: to=::",
        ),
    ];
    for (message, line) in messages {
        assert_eq!(message.to_string(), line);
        assert_eq!(
            CmMad { status: 0x1c, ..CmMad::new(1, message) }.to_string(),
            format!("{line} madstatus=0x001c")
        );
    }
}

#[test]
fn other_and_broken_mads_have_lines_too() {
    let header = MadHeader {
        base_version: 1,
        class: MadClass::SUBNET_ADMINISTRATION,
        class_version: 2,
        method: MadMethod::GET,
        transaction_id: 1,
        attribute_id: 0x35,
        ..MadHeader::default()
    };
    let mad = Mad::Other { header, data: &[0; 232] };
    let line = "SUBN_ADM method=GET attr=0x0035 mod=0x00000000 tid=0x0000000000000001";
    assert_eq!(mad.to_string(), line);
    let cut = RawMad::parse(&mad.encode()[..30]).to_string();
    assert_eq!(cut, format!("{line} [MAD data at byte 24: truncated, needs 232 bytes, has 6]"));
    let cut = RawMad::parse(&mad.encode()[..3]).to_string();
    assert_eq!(cut, "MAD len=3 [MAD at byte 0: truncated, needs 24 bytes, has 3]");
    let header = MadHeader { class: MadClass(0x33), method: MadMethod(0x44), status: 4, ..header };
    let line = "class_0x33 method=0x44 attr=0x0035 mod=0x00000000 tid=0x0000000000000001 status=0x0004";
    assert_eq!(header.to_string(), line);
}
