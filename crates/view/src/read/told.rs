//! What the linter tells while a capture is read.

use rdmalab_lint::{
    Cause, Finding, Observer, Operation, Placed, PlacedSegment, PlacedUnit, ResentCause, Role, SegmentRole,
    StreamOperation,
};

/// What the linter tells, until the packet that it is told at has its place.
#[derive(Default)]
pub(super) struct Told {
    pub placed: Option<Placed>,
    pub corrected: Vec<Placed>,
    pub lost: Vec<u64>,
    pub operations: Vec<Operation>,
    pub segment: Option<PlacedSegment>,
    pub units: Vec<PlacedUnit>,
    pub stream_operations: Vec<StreamOperation>,
    pub findings: Vec<Finding>,
}

/// Segments have roles as packets of RoCE have.
pub(super) fn role_of(role: SegmentRole) -> Role {
    match role {
        SegmentRole::New => Role::Request,
        SegmentRole::Duplicate => Role::Duplicate,
        SegmentRole::Late => Role::Late,
        SegmentRole::Resent { cause, is_first_seen } => {
            let cause = match cause {
                ResentCause::Timer => Cause::Timeout,
                // There is no such thing in RoCE; the packet has it beside its role.
                ResentCause::DuplicateAcknowledgements => Cause::Unknown,
            };
            Role::Repetition { cause, is_first_seen }
        }
    }
}

impl Observer for Told {
    fn packet(&mut self, placed: Placed) {
        self.placed = Some(placed);
    }

    fn corrected(&mut self, placed: Placed) {
        self.corrected.push(placed);
    }

    fn lost_behind(&mut self, _flow: u64, frame: u64) {
        self.lost.push(frame);
    }

    fn operation(&mut self, operation: &Operation) {
        self.operations.push(*operation);
    }

    fn segment(&mut self, placed: PlacedSegment) {
        self.segment = Some(placed);
    }

    fn unit(&mut self, placed: PlacedUnit) {
        self.units.push(placed);
    }

    fn stream_operation(&mut self, operation: &StreamOperation) {
        self.stream_operations.push(*operation);
    }

    fn finding(&mut self, finding: &Finding) {
        self.findings.push(finding.clone());
    }
}
