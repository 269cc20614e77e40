//! Datagram services: SIDR_REQ asks for the queue pair behind one, SIDR_REP answers. Nothing is connected.
//!
//! An answer is remembered for a while, so that it can be repeated when it was lost: the owner answers each question once.

use alloc::boxed::Box;

use rdmalab_wire::mad::{CmMad, CmMessage, SidrRep, SidrReq, SidrStatus};

use super::Cm;
use crate::error::CommandError;
use crate::event::Event;
use crate::ids::ResolutionId;
use crate::ip_service::{read_private_data, write_private_data};
use crate::listeners::ListenKind;
use crate::request::field;
use crate::resolution::{AnswerRequest, ResolveRequest, ServiceAnswer, ServiceCall, ServiceRefusal};
use crate::resolutions::{Asked, Asker, Question};
use crate::route::Route;
use crate::timers::Owner;

impl Cm {
    /// Asks for the queue pair behind a datagram service. What follows is [`ServiceResolved`](Event::ServiceResolved),
    /// [`ServiceRefused`](Event::ServiceRefused) or [`ServiceUnreachable`](Event::ServiceUnreachable).
    ///
    /// # Errors
    ///
    /// [`PrivateDataTooLong`](CommandError::PrivateDataTooLong), [`MixedFamilies`](CommandError::MixedFamilies),
    /// [`TooMany`](CommandError::TooMany).
    pub fn resolve_service(
        &mut self,
        now: u64,
        request: &ResolveRequest<'_>,
    ) -> Result<ResolutionId, CommandError> {
        let private_data = write_private_data(&request.route, &request.target, request.private_data)?;
        if self.resolutions.len() >= self.config.limits.resolutions {
            return Err(CommandError::TooMany);
        }
        let id = self.fresh_id();
        let service_id = request.target.service_id();
        let partition_key = request.route.partition_key();
        let req = SidrReq { request_id: id, partition_key, reserved: 0, service_id, private_data };
        let bytes = CmMad::new(self.own_transaction(id), CmMessage::SidrReq(req)).encode();
        let mut asked = Asked {
            route: request.route,
            service_id,
            bytes: Box::new(bytes),
            retries_left: self.config.max_retries.min(15),
            deadline: None,
        };
        let at = now.saturating_add(self.config.wait(self.config.response_timeout));
        self.timers.arm(Owner::Asked(id), &mut asked.deadline, at);
        self.resolutions.asked.insert(id, asked);
        self.transmit(request.route, bytes);
        Ok(ResolutionId(id))
    }

    /// Gives up a question of ours, or takes no more interest in one of a peer's. No event follows.
    ///
    /// # Errors
    ///
    /// [`UnknownResolution`](CommandError::UnknownResolution).
    pub fn cancel_resolution(&mut self, id: ResolutionId) -> Result<(), CommandError> {
        if let Some(mut asked) = self.resolutions.asked.remove(&id.0) {
            self.timers.disarm(Owner::Asked(id.0), &mut asked.deadline);
            return Ok(());
        }
        let question = self.resolutions.question_mut(id.0).filter(|question| question.answer.is_none());
        if question.is_none() {
            return Err(CommandError::UnknownResolution);
        }
        self.drop_question(id.0);
        Ok(())
    }

    pub(super) fn asked_timeout(&mut self, now: u64, id: u32) {
        let Some(asked) = self.resolutions.asked.get_mut(&id) else { return };
        asked.deadline = None;
        if asked.retries_left == 0 {
            self.counters.timeouts += 1;
            self.resolutions.asked.remove(&id);
            self.events.push_back(Event::ServiceUnreachable { id: ResolutionId(id) });
            return;
        }
        asked.retries_left -= 1;
        let at = now.saturating_add(self.config.wait(self.config.response_timeout));
        self.timers.arm(Owner::Asked(id), &mut asked.deadline, at);
        let (route, bytes) = (asked.route, *asked.bytes);
        self.counters.retransmitted += 1;
        self.transmit(route, bytes);
    }

    pub(super) fn handle_sidr_rep(&mut self, route: Route, rep: &SidrRep) {
        let id = rep.request_id;
        let is_valid = rep.status == SidrStatus::VALID;
        let is_answer =
            |asked: &Asked| asked.route == route && (!is_valid || asked.service_id == rep.service_id);
        if !self.resolutions.asked.get(&id).is_some_and(is_answer) {
            self.counters.answers_unknown += 1;
            return;
        }
        let name = ResolutionId(id);
        let _ = self.cancel_resolution(name);
        let private_data = rep.private_data.to_vec();
        let event = if is_valid {
            let answer = ServiceAnswer { route, qpn: rep.qpn, queue_key: rep.queue_key, private_data };
            Event::ServiceResolved { id: name, answer: Box::new(answer) }
        } else {
            let length = usize::from(rep.information_length).min(rep.additional_information.len());
            let additional_information = rep.additional_information[..length].to_vec();
            let refusal = ServiceRefusal { status: rep.status, additional_information, private_data };
            Event::ServiceRefused { id: name, refusal: Box::new(refusal) }
        };
        self.events.push_back(event);
    }

    pub(super) fn handle_sidr_req(&mut self, now: u64, route: Route, transaction_id: u64, req: &SidrReq) {
        let asker: Asker = (route.peer, req.request_id, transaction_id);
        if let Some(id) = self.resolutions.question(&asker) {
            self.counters.questions_repeated += 1;
            self.repeat_answer(now, id);
            return;
        }
        let refuse = |status| sidr_rep(req.request_id, req.service_id, status);
        let Some(found) = self.listeners.find(ListenKind::Datagrams, req.service_id, route.local) else {
            self.counters.questions_without_listener += 1;
            let answer = refuse(SidrStatus::SERVICE_ID_NOT_SUPPORTED);
            self.transmit_message(route, transaction_id, CmMessage::SidrRep(answer));
            return;
        };
        let Ok((ip, consumer)) = read_private_data(&route, req.service_id, &req.private_data) else {
            self.counters.questions_wrong_header += 1;
            let answer = refuse(SidrStatus::REJECTED);
            self.transmit_message(route, transaction_id, CmMessage::SidrRep(answer));
            return;
        };
        if found.is_full || self.resolutions.len() >= self.config.limits.resolutions {
            self.counters.questions_full += 1;
            return;
        }
        if !self.has_room_for_events() {
            return;
        }
        let id = self.fresh_id();
        let service_id = req.service_id;
        let mut question =
            Question { route, asker, service_id, listener: found.id, answer: None, deadline: None };
        // The asker does not say how long it waits.
        let at = self.answer_deadline(now);
        self.timers.arm(Owner::Question(id), &mut question.deadline, at);
        self.resolutions.insert_question(id, question);
        self.listeners.begin_waiting(found.id);
        self.counters.questions += 1;
        let call = Box::new(ServiceCall { route, service_id, ip, private_data: consumer.to_vec() });
        self.events.push_back(Event::ServiceRequest { listener: found.id, id: ResolutionId(id), call });
    }

    /// Answers a repeated question as before, if it was answered, and keeps the answer as long again.
    fn repeat_answer(&mut self, now: u64, id: u32) {
        let at = self.answer_deadline(now);
        let Some(question) = self.resolutions.question_mut(id) else { return };
        let Some(bytes) = question.answer.as_deref().copied() else { return };
        let route = question.route;
        self.timers.arm(Owner::Question(id), &mut question.deadline, at);
        self.counters.repeated_answers += 1;
        self.transmit(route, bytes);
    }

    /// How long a question is worth an answer.
    fn answer_deadline(&self, now: u64) -> u64 {
        let wait = self.config.wait(self.config.response_timeout);
        now.saturating_add(self.config.memory(wait, self.config.max_retries))
    }

    /// Answers a question.
    ///
    /// # Errors
    ///
    /// [`UnknownResolution`](CommandError::UnknownResolution),
    /// [`PrivateDataTooLong`](CommandError::PrivateDataTooLong).
    pub fn answer(
        &mut self,
        now: u64,
        id: ResolutionId,
        request: &AnswerRequest<'_>,
    ) -> Result<(), CommandError> {
        let at = self.answer_deadline(now);
        let found = self.resolutions.question_mut(id.0).filter(|question| question.answer.is_none());
        let question = found.ok_or(CommandError::UnknownResolution)?;
        let (_, request_id, transaction_id) = question.asker;
        let rep = match *request {
            AnswerRequest::QueuePair { qpn, queue_key, private_data } => {
                let private_data = field(private_data)?;
                let rep = sidr_rep(request_id, question.service_id, SidrStatus::VALID);
                SidrRep { qpn, queue_key, private_data, ..rep }
            }
            AnswerRequest::Refused { status, private_data } => {
                let private_data = field(private_data)?;
                SidrRep { private_data, ..sidr_rep(request_id, question.service_id, status) }
            }
        };
        let bytes = CmMad::new(transaction_id, CmMessage::SidrRep(rep)).encode();
        question.answer = Some(Box::new(bytes));
        self.timers.arm(Owner::Question(id.0), &mut question.deadline, at);
        let (route, listener) = (question.route, question.listener);
        self.listeners.end_waiting(listener);
        self.transmit(route, bytes);
        if let Some(oldest) = self.resolutions.push_answered(id.0, self.config.limits.answers) {
            self.drop_question(oldest);
        }
        Ok(())
    }

    pub(super) fn question_timeout(&mut self, id: u32) {
        if let Some(question) = self.resolutions.question_mut(id) {
            question.deadline = None;
            self.drop_question(id);
        }
    }

    fn drop_question(&mut self, id: u32) {
        let Some(mut question) = self.resolutions.remove_question(id) else { return };
        self.timers.disarm(Owner::Question(id), &mut question.deadline);
        if question.answer.is_none() {
            self.listeners.end_waiting(question.listener);
        }
    }
}

fn sidr_rep(request_id: u32, service_id: rdmalab_wire::mad::ServiceId, status: SidrStatus) -> SidrRep {
    SidrRep { request_id, service_id, status, ..SidrRep::default() }
}
