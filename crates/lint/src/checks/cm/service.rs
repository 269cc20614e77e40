//! Services for datagrams: who asks for the queue pair behind one, and what the answer says.

use rdmalab_wire::QKey;
use rdmalab_wire::mad::{ServiceId, SidrRep, SidrReq, SidrStatus};

use super::again::{Message, Said};
use super::{Connections, MOST_CONNECTIONS, MOST_SEARCHED};
use crate::finding::Findings;
use crate::packet::{FlowKey, Seen};
use crate::rules::RuleId;

/// A question for the queue pair of a service.
pub(super) struct Question {
    service: ServiceId,
    said: Said,
}

/// What is known of a service: packets to its queue pair, and their queue key.
pub(crate) struct Service {
    pub flow: FlowKey,
    pub queue_key: QKey,
    pub frame: u64,
}

impl Connections {
    /// A question for a service.
    pub(super) fn ask(&mut self, req: &SidrReq, message: &Message, seen: &Seen<'_>, findings: &mut Findings) {
        let call = (seen.key.source, seen.key.destination, req.request_id);
        let said = Said::of(message, seen);
        if let Some(question) = self.questions.get_mut(&call) {
            if question.said.transaction != message.transaction {
                // The number is used again.
                *question = Question { service: req.service_id, said };
            } else if question.said.sum != message.sum {
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

    /// An answer to it. Gives back what it says of the service, if it is there.
    pub(super) fn find_service(
        &mut self,
        rep: &SidrRep,
        message: &Message,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) -> Option<Service> {
        let (from, to) = (seen.key.source, seen.key.destination);
        let told = (rep.status == SidrStatus::VALID).then_some(Service {
            flow: FlowKey { source: to, destination: from, queue_pair: rep.qpn },
            queue_key: rep.queue_key,
            frame: seen.frame,
        });
        let Some(question) = self.questions.get(&(to, from, rep.request_id)) else {
            // To one that the capture missed, if it is not of the transaction of another one.
            let mut asked = self.questions.range((to, from, 0)..=(to, from, u32::MAX)).take(MOST_SEARCHED);
            let asked = asked.find(|(_, question)| question.said.transaction == message.transaction);
            if let Some((call, question)) = asked {
                findings.add(RuleId::CmService, None, &[seen.frame, question.said.frame], || {
                    format!(
                        "SIDR_REP answers the request {:#010x}, asked was {:#010x}",
                        rep.request_id, call.2
                    )
                });
            }
            return told;
        };
        let wrong = if rep.service_id != question.service {
            format!("SIDR_REP is about the service {}, asked for was {}", rep.service_id, question.service)
        } else if rep.status == SidrStatus::VALID && rep.qpn.value() == 0 {
            "SIDR_REP says that the service is there, and names no queue pair".to_owned()
        } else {
            return told;
        };
        findings.add(RuleId::CmService, None, &[seen.frame, question.said.frame], || wrong);
        None
    }
}
