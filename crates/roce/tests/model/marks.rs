//! What marks and rates must keep to, whatever happened.

use rdmalab_roce::CongestionControl;

use crate::pair::Pair;
use crate::pair::peer::Setup;

pub fn check(pair: &Pair, setup: &Setup) {
    for peer in &pair.peers {
        let counters = peer.endpoint.counters();
        if !setup.profile.ecn_capable {
            assert_eq!(counters.np_ecn_marked_roce_packets, 0, "nobody takes part");
        }
        let notified =
            if setup.profile.notifications.is_some() { counters.np_ecn_marked_roce_packets } else { 0 };
        assert!(counters.np_cnp_sent <= notified, "{counters:?}");
        let rate = peer.endpoint.rate(peer.sender);
        match setup.congestion_control {
            CongestionControl::None => assert_eq!(rate, None),
            CongestionControl::Fixed(fixed) => assert_eq!(rate, Some(fixed)),
            CongestionControl::Dcqcn(config) => {
                let rate = rate.expect("a rate");
                assert!((config.min_rate..=config.line_rate).contains(&rate), "{rate} bytes per second");
            }
        }
    }
}
