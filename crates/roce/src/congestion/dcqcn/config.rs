//! The parameters of DCQCN's reaction point.

/// What a DCQCN flow is made with. Rates are bytes per second (1 Mbit/s is 125,000), times nanoseconds.
///
/// "The paper" is Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015; "the vendor"
/// NVIDIA's public page "DCQCN CC Parameters", whose names (of MLNX_OFED; mind their units) are given for those who know a
/// real adapter's configuration. The defaults are the paper's where it gives one. Values out of range are taken as the
/// nearest in range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DcqcnConfig {
    /// The rate that a flow starts with and never exceeds (`rpg_max_rate`), at least 1. Set it to what the port carries;
    /// the default is the paper's 40 Gbit/s.
    pub line_rate: u64,
    /// No cut goes below (`rpg_min_rate`), from 1 to `line_rate`. Default 1 Mbit/s, the vendor's.
    pub min_rate: u64,
    /// R_AI, what the target rate grows by in each round of additive increase (`rpg_ai_rate`). Default 40 Mbit/s, the
    /// paper's; the vendor has 5 Mbit/s.
    pub additive_increase: u64,
    /// R_HAI, what the target rate grows by in the first round of hyper increase, twice as much in the second and so on
    /// (`rpg_hai_rate`). Default 400 Mbit/s, ten times `additive_increase`, which is the vendor's ratio (50 and
    /// 5 Mbit/s): the paper names none.
    pub hyper_increase: u64,
    /// T, the period of the timer whose runs are rounds of increase (`rpg_time_reset`), at least 1 µs. Default 55 µs,
    /// the paper's.
    pub timer: u32,
    /// B, the bytes of which each so many sent are a round of increase (`rpg_byte_reset`), at least 1024. Default 10 MB,
    /// the paper's.
    pub byte_counter: u32,
    /// F, the rounds of fast recovery (`rpg_threshold`). Default 5, the paper's.
    pub recovery_rounds: u8,
    /// g, the weight of the newest observation in α, in 1/1024, at most 1024. Default 4, the paper's 1/256. The vendor's
    /// `dce_tcp_g` counts the weight of the old: its 1019 is 1024 - 1019 = 5 here.
    pub gain: u16,
    /// α at the first notification in 1/1024, at most 1024 (`initial_alpha_value`). Default 1024, the paper's 1: the first
    /// notification halves the rate.
    pub initial_alpha: u16,
    /// How long without a notification until α falls (`dce_tcp_rtt`), at least 1 µs. Must be longer than the notification
    /// interval of the peer, or α falls in the midst of congestion. Default 55 µs, the paper's.
    pub alpha_period: u32,
    /// Notifications this soon after a cut are of the same congestion and change nothing (`rate_reduce_monitor_period`).
    /// Default 4 µs, the vendor's; the paper leaves it to the notification interval.
    pub cut_interval: u32,
}

impl Default for DcqcnConfig {
    fn default() -> Self {
        const MEGABIT: u64 = 125_000;
        Self {
            line_rate: 40_000 * MEGABIT,
            min_rate: MEGABIT,
            additive_increase: 40 * MEGABIT,
            hyper_increase: 400 * MEGABIT,
            timer: 55_000,
            byte_counter: 10_000_000,
            recovery_rounds: 5,
            gain: 4,
            initial_alpha: 1024,
            alpha_period: 55_000,
            cut_interval: 4_000,
        }
    }
}

impl DcqcnConfig {
    /// The defaults for a port of so many bytes per second.
    pub fn new(line_rate: u64) -> Self {
        Self { line_rate, ..Self::default() }
    }

    pub(super) fn in_range(self) -> Self {
        let line_rate = self.line_rate.max(1);
        Self {
            line_rate,
            min_rate: self.min_rate.clamp(1, line_rate),
            timer: self.timer.max(1_000),
            byte_counter: self.byte_counter.max(1_024),
            gain: self.gain.min(1024),
            initial_alpha: self.initial_alpha.min(1024),
            alpha_period: self.alpha_period.max(1_000),
            ..self
        }
    }
}
