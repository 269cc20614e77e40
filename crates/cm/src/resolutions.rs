//! All questions for datagram services, ours and those of peers, and the ways to find one.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use core::net::IpAddr;

use rdmalab_wire::mad::ServiceId;

use crate::connection::Message;
use crate::ids::ListenerId;
use crate::route::Route;

/// What tells questions of peers apart: who asks, its number, its transaction.
pub(crate) type Asker = (IpAddr, u32, u64);

/// A question of ours.
#[derive(Debug)]
pub(crate) struct Asked {
    pub route: Route,
    pub service_id: ServiceId,
    pub bytes: Box<Message>,
    pub retries_left: u8,
    pub deadline: Option<u64>,
}

/// A question of a peer's.
#[derive(Debug)]
pub(crate) struct Question {
    pub route: Route,
    pub asker: Asker,
    pub service_id: ServiceId,
    /// Whose backlog it is in.
    pub listener: ListenerId,
    /// `None`: waits for the owner.
    pub answer: Option<Box<Message>>,
    pub deadline: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Resolutions {
    pub asked: BTreeMap<u32, Asked>,
    questions: BTreeMap<u32, Question>,
    by_asker: BTreeMap<Asker, u32>,
    /// Questions with an answer, the oldest first; some may be gone.
    answered: VecDeque<u32>,
}

impl Resolutions {
    pub fn len(&self) -> usize {
        self.asked.len() + self.questions.len()
    }

    pub fn contains(&self, id: u32) -> bool {
        self.asked.contains_key(&id) || self.questions.contains_key(&id)
    }

    pub fn question(&self, asker: &Asker) -> Option<u32> {
        self.by_asker.get(asker).copied()
    }

    pub fn question_mut(&mut self, id: u32) -> Option<&mut Question> {
        self.questions.get_mut(&id)
    }

    pub fn insert_question(&mut self, id: u32, question: Question) {
        self.by_asker.insert(question.asker, id);
        self.questions.insert(id, question);
    }

    pub fn remove_question(&mut self, id: u32) -> Option<Question> {
        let question = self.questions.remove(&id)?;
        self.by_asker.remove(&question.asker);
        Some(question)
    }

    /// Remembers that this one is answered, and says which one is now too many.
    pub fn push_answered(&mut self, id: u32, limit: usize) -> Option<u32> {
        self.answered.push_back(id);
        if self.answered.len() <= limit {
            return None;
        }
        let oldest = self.answered.pop_front()?;
        self.questions.get(&oldest).is_some_and(|question| question.answer.is_some()).then_some(oldest)
    }

    pub fn questions(&self) -> impl Iterator<Item = (u32, &Question)> {
        self.questions.iter().map(|(id, question)| (*id, question))
    }

    /// Panics if an index does not fit the questions.
    pub fn assert_sound(&self) {
        assert_eq!(self.by_asker.len(), self.questions.len());
        for (asker, id) in &self.by_asker {
            assert_eq!(self.questions[id].asker, *asker);
        }
    }
}
