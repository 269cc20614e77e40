//! What always holds, for tests that do anything to a [`Cm`].

use alloc::collections::BTreeMap;

use super::Cm;
use crate::connection::State;
use crate::timers::Owner;

impl Cm {
    /// Panics if tables, indices, timers and limits do not fit each other. It looks at everything: for tests.
    #[doc(hidden)]
    pub fn assert_sound(&self) {
        let limits = &self.config.limits;
        self.connections.assert_sound();
        self.resolutions.assert_sound();
        assert!(self.connections.len() <= limits.connections);
        assert!(self.resolutions.len() <= limits.resolutions + limits.answers);
        assert!(self.transmits.len() <= limits.transmits);
        let mut armed = 0;
        let mut rejected = 0;
        let mut waiting = BTreeMap::new();
        for (id, connection) in self.connections.iter() {
            assert!(self.timers.has(Owner::Connection(id), connection.deadline));
            let ends = !matches!(
                connection.state,
                State::RequestReceived | State::ReplyReceived | State::Established
            );
            assert_eq!(connection.deadline.is_some(), ends, "{}", connection.state.name());
            armed += usize::from(ends);
            rejected += usize::from(connection.state == State::Rejected);
            if let (State::RequestReceived, Some(listener)) = (connection.state, connection.listener) {
                *waiting.entry(listener).or_insert(0) += 1;
            }
        }
        assert!(rejected <= limits.rejections);
        for (id, asked) in &self.resolutions.asked {
            assert!(asked.deadline.is_some() && self.timers.has(Owner::Asked(*id), asked.deadline));
            armed += 1;
        }
        for (id, question) in self.resolutions.questions() {
            assert!(question.deadline.is_some() && self.timers.has(Owner::Question(id), question.deadline));
            armed += 1;
            if question.answer.is_none() {
                *waiting.entry(question.listener).or_insert(0) += 1;
            }
        }
        assert_eq!(self.timers.len(), armed, "a timer of nobody");
        for (listener, count) in waiting {
            assert!(self.listeners.waiting(listener).is_none_or(|known| known == count));
        }
    }
}
