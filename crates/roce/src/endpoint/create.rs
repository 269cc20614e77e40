//! Making queue pairs, and their end.

use rdmalab_verbs::{Context, Full, Handle, LimitReached, ModifyError, QueuePairType, Table};
use rdmalab_wire::Qpn;

use super::Endpoint;
use crate::config::{CreateError, QueuePairConfig};
use crate::queue_pair::QueuePair;

impl Endpoint {
    /// Makes a queue pair, in RESET.
    pub fn create_queue_pair(
        &mut self,
        context: &mut Context,
        config: &QueuePairConfig,
    ) -> Result<Qpn, CreateError> {
        let limit = LimitReached { what: "queue pairs", limit: self.port.config.max_queue_pairs };
        self.create(context, config, limit, |table, made| table.insert_with(|handle| made(Qpn::new(handle))))
    }

    /// Makes the general services interface (GSI), queue pair 1, in RESET: the datagram queue pair over which nodes
    /// manage each other. A port has at most one. Its queue key is to be [`QKey::GSI`](rdmalab_wire::QKey::GSI).
    pub fn create_gsi(
        &mut self,
        context: &mut Context,
        config: &QueuePairConfig,
    ) -> Result<Qpn, CreateError> {
        if config.kind != QueuePairType::Ud {
            return Err(CreateError::NotDatagram);
        }
        let limit = LimitReached { what: "general services interfaces", limit: 1 };
        self.create(context, config, limit, |table, made| {
            table.insert_at(Qpn::GSI.value(), made(Qpn::GSI)).map(|()| Qpn::GSI.value())
        })
    }

    /// Makes a queue pair and lets `insert` put it into the table.
    fn create(
        &mut self,
        context: &mut Context,
        config: &QueuePairConfig,
        limit: LimitReached,
        insert: impl FnOnce(&mut Table<QueuePair>, &dyn Fn(Qpn) -> QueuePair) -> Result<Handle, Full>,
    ) -> Result<Qpn, CreateError> {
        config.check()?;
        let attachment = config.attachment();
        context.attach(&attachment).map_err(|_| CreateError::NoSuchObject)?;
        self.made += 1;
        let (serial, port) = (self.made, &self.port.config);
        let made = |number| QueuePair::new(number, config, port, serial);
        let Ok(handle) = insert(&mut self.queue_pairs, &made) else {
            context.detach(&attachment);
            return Err(CreateError::LimitReached(limit));
        };
        let places = self.queue_pairs.index(handle).map_or(0, |index| index + 1);
        self.timers.reserve(places);
        self.ready.reserve(places.saturating_sub(self.ready.len()));
        Ok(Qpn::new(handle))
    }

    /// Ends a queue pair. Its requests vanish without completions; packets for it are dropped.
    pub fn destroy_queue_pair(&mut self, context: &mut Context, number: Qpn) -> Result<(), ModifyError> {
        let index = self.queue_pairs.index(number.value());
        let gone = self.queue_pairs.remove(number.value()).ok_or(ModifyError::NoSuchQueuePair)?;
        if let Some(index) = index {
            self.timers.set(index as u32, None);
            self.ready.retain(|&ready| ready as usize != index);
        }
        self.groups.leave_all(number);
        context.detach(&gone.settings().attachment());
        Ok(())
    }
}
