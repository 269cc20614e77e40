//! What no rule can find, whatever a peer says there, and why. All other fields are found by some rule, in some packets at least.

/// Names of fields, or how they begin where a `*` stands at the end, and why a lie there is not known to be one.
pub const UNSEEN: &[(&[&str], &str)] = &[
    (
        &["infiniband.invariant.crc", "infiniband.variant.crc", "ip.checksum", "udp.checksum"],
        "made right again in this test",
    ),
    (
        &["eth.dst", "eth.src", "vlan.*", "infiniband.lrh.sl", "infiniband.lrh.vl"],
        "links and priorities, which networks choose",
    ),
    (
        &[
            "ip.dsfield.dscp",
            "ip.flags.df",
            "ip.id",
            "ip.ttl",
            "ipv6.flow",
            "ipv6.hlim",
            "ipv6.tclass.*",
            "udp.srcport",
        ],
        "what senders may choose and networks change",
    ),
    (
        &["ipv6.dst", "ipv6.src", "ipv6.nxt", "infiniband.mad.mgmtclass"],
        "it is another conversation, or none of RDMA",
    ),
    (
        &[
            "infiniband.bth.a",
            "infiniband.bth.m",
            "infiniband.rdeth.eecnxt",
            "rdmalab.bth.fecn",
            "rdmalab.feth.placement",
            "rdmalab.feth.selectivity",
            "rdmalab.xrceth.srq",
        ],
        "what a requester may ask for, and a mark of networks",
    ),
    (&["ip.flags.mf", "ip.frag_offset"], "fragments, of which it is said that they are not judged"),
    (&["infiniband.aeth.syndrome.credit_count"], "how many receives are posted only the responder knows"),
    (&["infiniband.deth.srcqp"], "which queue pair an answer is to go to, its sender chooses"),
    (
        &[
            "infiniband.cm.apr.info*",
            "infiniband.cm.apr.private",
            "infiniband.cm.dreq.private",
            "infiniband.cm.drsp.private",
            "infiniband.cm.lap.private",
            "infiniband.cm.mra.private",
            "infiniband.cm.rej.ari",
            "infiniband.cm.rej.private",
            "infiniband.cm.rej.rejinfolen",
            "infiniband.cm.rep.private",
            "infiniband.cm.req.ip_cm",
            "infiniband.cm.req.ip_cm.dip4",
            "infiniband.cm.req.ip_cm.ipv",
            "infiniband.cm.req.ip_cm.majv",
            "infiniband.cm.req.ip_cm.minv",
            "infiniband.cm.req.ip_cm.private",
            "infiniband.cm.req.ip_cm.sip4",
            "infiniband.cm.req.ip_cm.sport",
            "infiniband.cm.rtu.private",
            "infiniband.cm.sidrrep.info*",
            "infiniband.ieth",
            "infiniband.immdt",
            "infiniband.cm.sidrrep.private",
            "infiniband.cm.sidrreq.ip_cm",
            "infiniband.cm.sidrreq.ip_cm.dip6",
            "infiniband.cm.sidrreq.ip_cm.ipv",
            "infiniband.cm.sidrreq.ip_cm.majv",
            "infiniband.cm.sidrreq.ip_cm.minv",
            "infiniband.cm.sidrreq.ip_cm.private",
            "infiniband.cm.sidrreq.ip_cm.sip6",
            "infiniband.cm.sidrreq.ip_cm.sport",
        ],
        "what programs tell each other",
    ),
    (
        &[
            "infiniband.cm.lap.alt_*",
            "infiniband.cm.lap.remoteresptout",
            "infiniband.cm.mra.msgmraed",
            "infiniband.cm.mra.servicetout",
            "infiniband.cm.rej.msgrej",
            "infiniband.cm.rej.reason",
            "infiniband.cm.rep.e2eflowctrl",
            "infiniband.cm.rep.failoveracc",
            "infiniband.cm.rep.localcaguid",
            "infiniband.cm.rep.localeecn",
            "infiniband.cm.rep.localqkey",
            "infiniband.cm.rep.rnrretrcount",
            "infiniband.cm.rep.tgtackdelay",
            "infiniband.cm.req.localqpn",
            "infiniband.cm.req.prim_localgid_ipv4",
            "infiniband.cm.req.prim_remotegid_ipv4",
            "infiniband.cm.req.serviceid.*",
            "infiniband.cm.sidrrep.qpn",
            "infiniband.cm.sidrrep.status",
            "infiniband.cm.sidrreq.pkey",
        ],
        "what a side says about itself or a path, as long as nothing else in the capture says otherwise",
    ),
];

/// Whether a field is one of them.
pub fn is_unseen(field: &str) -> bool {
    let is_it = |name: &&str| match name.strip_suffix('*') {
        Some(beginning) => field.starts_with(beginning) && !field.contains("reserved"),
        None => field == *name,
    };
    UNSEEN.iter().any(|(names, _)| names.iter().any(is_it))
}
