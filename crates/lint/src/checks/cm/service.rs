//! Services for datagrams: who asks for the queue pair behind one, and what the answer says.

use rdmalab_wire::mad::{ServiceId, SidrRep, SidrReq, SidrStatus};

use super::again::{Message, Said};
use super::{Connections, MOST_CONNECTIONS};
use crate::finding::Findings;
use crate::packet::Seen;
use crate::rules::RuleId;

/// A question for the queue pair of a service.
pub(super) struct Question {
    service: ServiceId,
    said: Said,
}

impl Connections {
    /// A question for a service.
    pub(super) fn ask(&mut self, req: &SidrReq, message: &Message, seen: &Seen<'_>, findings: &mut Findings) {
        let call = (seen.key.source, seen.key.destination, req.request_id);
        let said = Said::of(message.sum, seen);
        if let Some(question) = self.questions.get_mut(&call) {
            if question.said.sum != message.sum {
                let frame = question.said.frame;
                findings.add(RuleId::CmRepeat, None, &[seen.frame, frame], || {
                    "the SIDR_REQ comes again with another content".to_owned()
                });
            }
            return;
        }
        self.questions.insert(call, Question { service: req.service_id, said });
        self.questions_in_order.push_back(call);
        if self.questions_in_order.len() > MOST_CONNECTIONS
            && let Some(old) = self.questions_in_order.pop_front()
        {
            self.questions.remove(&old);
        }
    }

    /// An answer to it.
    pub(super) fn find_service(&mut self, rep: &SidrRep, seen: &Seen<'_>, findings: &mut Findings) {
        let (from, to) = (seen.key.source, seen.key.destination);
        // To one that the capture missed.
        let Some(question) = self.questions.get(&(to, from, rep.request_id)) else { return };
        let wrong = if rep.service_id != question.service {
            format!("SIDR_REP is about the service {}, asked for was {}", rep.service_id, question.service)
        } else if rep.status == SidrStatus::VALID && rep.qpn.value() == 0 {
            "SIDR_REP says that the service is there, and names no queue pair".to_owned()
        } else {
            return;
        };
        findings.add(RuleId::CmService, None, &[seen.frame, question.said.frame], || wrong);
    }
}
