use super::*;

/// Lines that the real programs printed.
#[test]
fn results_are_printed_as_by_the_real_programs() {
    let figures = Figures { size: 10000, iterations: 5, peak: 0.381, average: 0.297, rate: 0.000_031_2 };
    let row = Row::Bandwidth { figures, gigabits: false };
    assert_eq!(row.to_string(), " 10000      5                0.38               0.30   \t\t   0.000031");
    let figures = Figures { size: 131072, iterations: 5, peak: 21.43, average: 15.32, rate: 0.000123 };
    let row = Row::Bandwidth { figures, gigabits: false };
    assert_eq!(row.to_string(), " 131072     5                21.43              15.32  \t\t   0.000123");
    let figures = Figures { size: 1000, iterations: 200, peak: 0.018652, average: 0.016721, rate: 0.00209 };
    let row = Row::Bandwidth { figures, gigabits: true };
    assert_eq!(row.to_string(), " 1000       200           0.018652            0.016721            0.002090");
    let summary = Summary {
        least: 2_715_600.0,
        most: 3_150_440.0,
        typical: 2_745_390.0,
        average: 2_745_390.0,
        deviation: 29_000.0,
        percentile_99: 3_150_440.0,
        percentile_99_9: 3_150_440.0,
    };
    let row = Row::Latency { size: 100, iterations: 5, summary: Some(summary) };
    assert_eq!(
        row.to_string(),
        " 100     5          2715.60        3150.44      2745.39  \t       2745.39     \t29.00  \t\t3150.44 \t\t3150.44"
    );
    let pace = Pace { rounds: 121, time: std::time::Duration::from_micros(2_009_658), messages: 2 };
    let row = Row::Pace { size: 100, pace };
    assert_eq!(row.to_string(), " 100           121            8304.37        60.21  ");
}

#[test]
fn queue_pairs_are_printed_as_by_the_real_programs() {
    let side = Side {
        outstanding: 0x80,
        queue_pair: rdmalab_device::Qpn::new(0x27),
        psn: rdmalab_device::Psn::new(0xc065d),
        key: rdmalab_device::RKey::new(0x137f),
        address: 0x5621dfc57710,
        gid: [10, 9, 0, 1].into(),
    };
    let lines = |is_local, operation| SideLine { is_local, operation, side }.to_string();
    let gid = "\n GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:09:00:01";
    assert_eq!(
        lines(true, Operation::Read),
        format!(
            " local address: LID 0000 QPN 0x0027 PSN 0xc065d OUT 0x80 RKey 0x00137f VAddr 0x005621dfc57710{gid}"
        )
    );
    assert_eq!(
        lines(false, Operation::Write),
        format!(" remote address: LID 0000 QPN 0x0027 PSN 0xc065d RKey 0x00137f VAddr 0x005621dfc57710{gid}")
    );
    assert_eq!(
        lines(false, Operation::Send),
        format!(" remote address: LID 0000 QPN 0x0027 PSN 0xc065d{gid}")
    );
}
